"""Text that is safe to show: decoding, width, room, secrets."""
