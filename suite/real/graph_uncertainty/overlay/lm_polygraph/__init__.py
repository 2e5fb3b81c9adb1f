"""Here without the models, data sets and managers of the package."""
