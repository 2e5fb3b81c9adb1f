"""Rendering of reports for the terminal, Markdown, CSV, LaTeX and HTML."""
