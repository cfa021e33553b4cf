"""How fast the hooks are. `make bench` is the way in; docs/speed.md says what is measured and how."""
