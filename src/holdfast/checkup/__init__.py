"""Everything that `holdfast doctor` looks at. A closed list; each part says what it found."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkup import client, delivered, kept, registered
from holdfast.checkup.finding import Finding
from holdfast.clients import CLAUDE, Client
from holdfast.project import Surroundings
from holdfast.sync import Synced


def examine(synced: Synced, here: Surroundings, about: Client = CLAUDE) -> Iterator[Finding]:
    """All findings, the installation first."""
    yield from registered.examine(here, about)
    yield from client.examine(about)
    yield from kept.examine(synced, here)
    if about is CLAUDE:  # the transcripts of others are of other shapes
        yield from delivered.examine(synced)
