"""The group `holdfast orchestrate`."""
