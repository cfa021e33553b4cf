"""The fast tier: answers that were prepared. Standard library only."""
