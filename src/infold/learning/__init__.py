"""What earlier runs teach: good points, a shared metric, a feature map, the kind of designs."""
