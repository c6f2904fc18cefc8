"""What any Gaussian process needs: kernels, inference, training, padding, transforms of values."""
