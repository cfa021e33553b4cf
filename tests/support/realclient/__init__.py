"""The real Claude Code client, driven against a stand-in for the service behind it."""
