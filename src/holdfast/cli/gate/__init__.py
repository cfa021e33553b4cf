"""The group `holdfast gate`: one command for each transition of the document; docs/formats/gated.md has the table."""
