"""Markdown that may declare canonical workflows: CLAUDE.local.md and the plans."""
