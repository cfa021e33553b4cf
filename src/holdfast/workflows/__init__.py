"""All workflows of a project: sync, selection, naming, what was observed."""
