"""A stand-in for SciPy: quantiles of the normal distribution. Importing SciPy's takes longer than all of this task."""
