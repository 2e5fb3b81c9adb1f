"""What is new in a package between two versions, read from the syntax of its files. Nothing is imported or run."""
