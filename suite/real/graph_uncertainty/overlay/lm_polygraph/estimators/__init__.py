"""Import estimators from their own modules; the package's list of all of them is left out."""
