"""Rendering of tables for the terminal, Markdown, CSV, LaTeX and HTML."""
