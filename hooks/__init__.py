"""The door: stdin to event to handler to reply to stdout."""
