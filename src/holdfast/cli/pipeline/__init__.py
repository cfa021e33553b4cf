"""The group `holdfast pipeline`: workflows with enforced steps, approvals, retries and sessions."""

from __future__ import annotations

from holdfast.cli.pipeline import runs, session, steps  # noqa: F401  # each adds its commands to the group
from holdfast.cli.pipeline.group import pipeline

COMMANDS = (pipeline,)
