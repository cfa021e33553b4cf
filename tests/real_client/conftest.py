"""The real client in each version, and runs of it that several tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.agents.clients import CLAUDE
from realclient.install import NotInstalled, installed
from realclient.recording import Record, Recording, Run, shared


@pytest.fixture(scope="session", params=CLAUDE.tried)
def version(request: pytest.FixtureRequest) -> str:
    asked: str = request.param
    return asked


@pytest.fixture(scope="session")
def binary(version: str) -> Path:
    """The client itself. It is installed once and kept, so only the first run needs a network."""
    try:
        return installed(version)
    except NotInstalled as error:
        if os.environ.get("HOLDFAST_CI"):
            pytest.fail(f"{error}, and CI may not skip this test")
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def record(version: str, binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Record:
    """Make a run of the client, or read it where another worker of pytest-xdist has made it."""
    base = tmp_path_factory.getbasetemp()
    common = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def recorded(run: Run) -> Recording:
        name = f"{run.__name__}-{version}"
        return shared(common / f"{name}.json", lambda: run(binary, tmp_path_factory.mktemp(name)))

    return recorded
