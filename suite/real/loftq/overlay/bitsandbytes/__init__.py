"""A stand-in for the package of 4-bit kernels: it has none, so that weights are quantised in Python."""
