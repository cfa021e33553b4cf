"""Markdown as its readers see it, for formats that take something from it."""
