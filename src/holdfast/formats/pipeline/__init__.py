"""Generation, planning and defined workflows with enforced steps, in workspace/workflow-state."""
