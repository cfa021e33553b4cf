"""The group `holdfast gate`: what an orchestrator does to the state of gated development.

One command for each transition of the document; docs/formats/gated.md has the table. A command works
on the feature of this session among those in workflow/. Creators and reviewers only read.
"""

from __future__ import annotations

from holdfast.cli.gate import looking, moves, runs  # noqa: F401  # each adds its commands to the group
from holdfast.cli.gate.group import gate

COMMANDS = (gate,)
