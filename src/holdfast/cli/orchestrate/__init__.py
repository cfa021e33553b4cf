"""The group `holdfast orchestrate`: one command for each moment at which the format's document asks for an update."""
