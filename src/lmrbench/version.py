"""The one place where the version of the package is written; the suite has its own in suite.toml."""

__version__ = "0.2.0"
