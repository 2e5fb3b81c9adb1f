"""Render reports for the terminal and as Markdown, CSV, LaTeX and HTML."""
