"""Render reports on a terminal and as Markdown, CSV, LaTeX and HTML."""
