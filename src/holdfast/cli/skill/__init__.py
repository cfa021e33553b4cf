"""The group `holdfast skill`: what skills such as /dev and /tdd do to their state.

One command for each shell operation of the document; docs/formats/skill.md has the table. A command
works on the workflow of this session among those of skills. Those below `tdd` work on the /tdd within
a /dev, where there is one.
"""

from __future__ import annotations

from holdfast.cli.skill import moves, runs  # noqa: F401  # each adds its commands to the group
from holdfast.cli.skill.group import skill

COMMANDS = (skill,)
