"""The canonical format: untracked/workflow-state/<slug>/state-<slug>-<start>.json."""
