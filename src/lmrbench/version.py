"""The version of the package. A suite has its own version, in suite.toml."""

__version__ = "0.2.0"
