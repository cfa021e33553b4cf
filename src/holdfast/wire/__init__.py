"""What the client sends and what it may be told. No input or output happens here."""
