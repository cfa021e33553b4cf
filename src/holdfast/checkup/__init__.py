"""Everything that `holdfast doctor` looks at. A closed list; each part says what it found."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkup import client, delivered, kept, registered
from holdfast.checkup.finding import Finding
from holdfast.clock import Clock
from holdfast.project import Surroundings
from holdfast.settings import load
from holdfast.sync import Synced


def examine(synced: Synced, surroundings: Surroundings, clock: Clock) -> Iterator[Finding]:
    """All findings, the installation first."""
    parts = load(None, surroundings.config_file).settings.parts  # the user's alone count
    yield from registered.examine(synced.root, surroundings.client_dir, parts)
    yield from client.examine()
    yield from kept.examine(synced, surroundings, clock)
    yield from delivered.examine(synced)
