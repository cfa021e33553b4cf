"""Resumable state machines of skills such as /dev and /tdd, in .claude/workflow-state."""
