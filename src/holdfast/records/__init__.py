"""What Holdfast keeps for itself: sessions, the project record, the hook log."""
