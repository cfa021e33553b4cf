"""The command line, for agents and for people."""
