"""The state of an orchestrator: one run of a task document, with a supervisor and limits."""
