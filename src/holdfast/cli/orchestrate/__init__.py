"""The group `holdfast orchestrate`: what an orchestrator does to its run.

One command for each moment at which the format's document asks for an update; the table is in
docs/formats/orchestrator.md.
"""

from __future__ import annotations

from holdfast.cli.orchestrate import (  # noqa: F401  # each adds its commands to the group
    agents,
    keeping,
    locking,
    runs,
    work,
)
from holdfast.cli.orchestrate.group import orchestrate

COMMANDS = (orchestrate,)
