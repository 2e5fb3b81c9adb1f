"""Integrations with other projects' formats and frameworks, one module each."""
