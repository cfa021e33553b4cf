"""The group `holdfast pipeline`: workflows with enforced steps, approvals, retries and sessions."""
