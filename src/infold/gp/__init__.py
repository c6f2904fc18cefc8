"""What any Gaussian process needs: kernels, exact and Kronecker-structured inference, padding."""
