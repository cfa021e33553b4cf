"""Workflows that have ended or are to be left alone in this project, so that they stay so.

An entry under "finished" is a tombstone: markdown that nobody has edited since does not bring the
workflow back. An entry under "ignored" holds until `holdfast resume`. "untold" are lines that the
person has not seen yet, because they came up where a hook has no channel to a person.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field

from holdfast.errors import StateUnreadable
from holdfast.store import Store, read_file


@dataclass(frozen=True)
class Tombstone:
    """How a workflow ended."""

    name: str
    at: str
    how: str  # "completed" by a command, or "deleted": its state file was removed by hand
    declaration: str = ""  # digest of what the markdown declared at that time
    open_items: tuple[str, ...] = ()  # digests of the checkboxes that were open then
    archive: str = ""  # the last state, relative to the root


@dataclass
class Ledger:
    """All entries, by the workflow's key."""

    finished: dict[str, Tombstone] = field(default_factory=dict)
    ignored: dict[str, str] = field(default_factory=dict)  # key -> name
    untold: list[str] = field(default_factory=list)


_FILE = "ledger.json"
_MOST_UNTOLD = 10


def load(store: Store) -> Ledger:
    """What is noted; a ledger that cannot be read counts as empty."""
    try:
        record = json.loads(read_file(store.private / _FILE)[0])
        return Ledger(
            {
                key: Tombstone(**{**entry, "open_items": tuple(entry.get("open_items", ()))})
                for key, entry in record["finished"].items()
            },
            {str(key): str(name) for key, name in record["ignored"].items()},
            [str(line) for line in record["untold"]],
        )
    except (StateUnreadable, ValueError, KeyError, TypeError, AttributeError):
        return Ledger()


def save(store: Store, ledger: Ledger) -> None:
    """Write *ledger*; to be called inside the lock."""
    record = {
        "version": 1,
        "finished": {key: asdict(entry) for key, entry in sorted(ledger.finished.items())},
        "ignored": dict(sorted(ledger.ignored.items())),
        "untold": list(dict.fromkeys(ledger.untold))[-_MOST_UNTOLD:],
    }
    store.write(
        store.private / _FILE, (json.dumps(record, ensure_ascii=False, indent=1) + "\n").encode()
    )
