"""The MCP server: the workflows of a project for agents, and tool-event hooks without a process each.

Nothing here is loaded by a hook that is a process of its own. The SDK is an extra, `holdfast[mcp]`.
"""
