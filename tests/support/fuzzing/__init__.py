"""Hostile input for everything that reads a file or a payload: what is tried, how it is made, and a long run."""
