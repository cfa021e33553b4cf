"""The entry of every hook: an answer that was prepared is printed, anything else takes the full path.

Until it is known which, only the modules below are loaded. They use the standard library alone, and nothing of it that takes
longer to load than `json`. Hooks with --part do without `json` as well, because a restore starts twelve of them.
"""

from __future__ import annotations

import os
import sys

from holdfast import agents
from holdfast.agents import request
from holdfast.agents.request import read_stdin, write
from holdfast.answers import parts
from holdfast.config import homes
from holdfast.setup.plugin import marker

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` and what it loads are not worth it
    from collections.abc import Sequence


def main(arguments: Sequence[str] = ()) -> int:
    """Answer the one event on stdin. `holdfast hook` ends here."""
    raw = read_stdin()
    if homes.is_switched_off(os.environ):
        return 0
    of_plugin = os.path.lexists(os.path.join(sys.prefix, marker.NAME))
    said = _part(raw, arguments)
    if said is not None:
        return write(said)
    asked = request.Request(raw, arguments)
    if of_plugin and asked.name in {"SessionStart", "PreToolUse"} and not asked.part:
        asked.note = asked.note or marker.claim_news(sys.prefix)
    from holdfast.answers import quick

    said = quick.answer(asked)
    if said is not None:
        return write(said)
    from holdfast.hooks import full

    return full.main(asked)


def _part(raw: bytes, arguments: Sequence[str]) -> bytes | None:
    """What a hook for a part of the reading prints; None for any other, and where the log has to tell."""
    try:
        part, agent, _ = request.read_options(arguments)
    except ValueError:
        return None
    state_dir = homes.for_state(os.environ)
    if not part or not state_dir or b"SessionStart" not in raw:
        return None
    if agent in agents.NAMES and not agents.named(agent).capabilities.parts:
        return b""  # its guidance has the reading; nothing will be laid ready
    return parts.send(state_dir, raw, part, parts.PATIENCE)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
