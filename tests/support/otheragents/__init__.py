"""Other coding agents than Claude Code, driven by tests against stand-ins of their models' APIs."""
