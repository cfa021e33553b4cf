"""The agents' real programs, and runs of them that several tests share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from npm import NotInstalled
from otheragents.place import Place
from realclient.recording import Recording, shared

# A run gets a place for one of the agents. The fixture `recorded` makes it, once.
Recorded = Callable[[Callable[[Place], Recording], type[Place]], Recording]
Placed = Callable[[type[Place]], Place]


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Make a run of an agent, or read it where another worker of pytest-xdist has made it."""
    base = tmp_path_factory.getbasetemp()
    common = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def made(run: Callable[[Place], Recording], kind: type[Place]) -> Recording:
        name = f"{kind.agent}-{run.__name__}"
        return shared(
            common / f"{name}.json",
            lambda: run(_place(kind, tmp_path_factory.mktemp(name))),
            kind.service.asked,
        )

    return made


@pytest.fixture
def placed(tmp_path: Path) -> Placed:
    """A place of a test's own."""
    return lambda kind: _place(kind, tmp_path)


@pytest.fixture(scope="session")
def made() -> Callable[[type[Place], Path], Place]:
    """Places of several agents in one test."""
    return _place


def _place(kind: type[Place], folder: Path) -> Place:
    """The program is installed once and kept, so only the first run needs a network."""
    try:
        return kind(folder)
    except NotInstalled as error:
        if os.environ.get("HOLDFAST_CI"):
            pytest.fail(f"{error}, and CI may not skip this test")
        pytest.skip(str(error))
