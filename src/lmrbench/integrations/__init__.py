"""Integrations with the formats and frameworks of other projects, one module each."""
