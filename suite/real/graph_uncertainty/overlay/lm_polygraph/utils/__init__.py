"""Here without the package's models and managers."""
