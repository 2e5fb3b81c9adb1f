"""List the definitions that are new in a version of a package, by parsing its files. No code is imported or run."""
