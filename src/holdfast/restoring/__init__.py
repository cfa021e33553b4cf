"""What a session is told after a compaction: guidance, required reading, what the summary kept."""
