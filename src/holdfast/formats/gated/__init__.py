"""Gated development: five phases with reviews, in workflow/<feature>/."""
