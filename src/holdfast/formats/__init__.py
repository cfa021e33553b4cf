"""The workflow formats. registry.py lists them; signs.py says where they lie, without loading them."""
