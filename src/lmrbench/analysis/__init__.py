"""What do the records of runs say? Statistics and tables."""
