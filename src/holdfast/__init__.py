"""Holdfast: a multi-phase workflow comes through context compaction without losing a word."""

__version__ = "0.1.0"
