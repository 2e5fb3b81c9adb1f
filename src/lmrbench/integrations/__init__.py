"""Other projects' formats and frameworks, one module each."""
