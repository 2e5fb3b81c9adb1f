"""The measures of a report, one module each."""
