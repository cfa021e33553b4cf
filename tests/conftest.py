"""What all tests share: an untouchable home, and skips that say why."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from holdfast.project import variables_of_home

pytest_plugins = ["pytester"]

settings.register_profile(
    "default", deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.load_profile("default")


@pytest.fixture(autouse=True)
def nobodys_home(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """No test reads or writes the home, the settings or the session of whoever runs it."""
    home = tmp_path_factory.mktemp("nobody")
    for name, value in variables_of_home(str(home)).items():
        monkeypatch.setenv(name, value)
    for name in list(os.environ):
        if name.startswith(("CLAUDE", "HOLDFAST_", "XDG_", "ANTHROPIC")) and name != "HOLDFAST_CI":
            monkeypatch.delenv(name)
    return home


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in item.iter_markers("needs"):
        missing = [program for program in marker.args if shutil.which(program) is None]
        if not missing:
            continue
        reason = f"{', '.join(missing)} not installed"
        if os.environ.get("HOLDFAST_CI"):
            pytest.fail(f"{reason}, and CI may not skip this test")
        pytest.skip(reason)
