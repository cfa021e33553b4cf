"""One run of the client, kept as data, so that many small tests can ask about it.

A run takes seconds, and pytest-xdist spreads the tests of a module over its workers: the first one
that needs a run makes it, the others read it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock

from realclient.sandbox import Seen, chosen
from realclient.standin import Request


@dataclass
class Recording:
    """`printed` is what the client told the person: JSON lines, or the screen."""

    requests: list[Request] = field(default_factory=list)
    every: list[Seen] = field(default_factory=list)
    printed: list[Any] = field(default_factory=list)
    notes: dict[str, Any] = field(default_factory=dict)

    def seen(self, event: str = "", name: str = "", /, **fields: Any) -> list[Seen]:
        return chosen(self.every, event, name, **fields)

    def order(self, *events: str, name: str = "probe") -> list[str]:
        """The events of these kinds, in the order in which they came."""
        return [each.event for each in self.every if each.name == name and each.event in events]


# However slow the machine is, a run takes no longer than this.
LONGEST_RUN = 300.0

# A run gets the client's binary and a folder of its own. The fixture `record` makes it, once.
Run = Callable[[Path, Path], Recording]
Record = Callable[[Run], Recording]


def shared(
    file: Path, make: Callable[[], Recording], request: type[Request] = Request
) -> Recording:
    with FileLock(f"{file}.lock", timeout=LONGEST_RUN):
        if not file.exists():
            made = json.dumps(asdict(make()))
            aside = file.with_suffix(".new")
            aside.write_text(made, encoding="utf-8")
            aside.rename(file)
    read = json.loads(file.read_text(encoding="utf-8"))
    return Recording(
        [request(**each) for each in read["requests"]],
        [Seen(**each) for each in read["every"]],
        read["printed"],
        read["notes"],
    )
