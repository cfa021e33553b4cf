"""Reading and writing files: the store, its lock, whole writes, reading with bounds, git."""
