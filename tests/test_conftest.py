"""The guard around the home of whoever runs the tests is itself tested."""

from __future__ import annotations

import os
from pathlib import Path

from holdfast.config.project import Surroundings


def test_the_home_is_nobodys(nobodys_home: Path) -> None:
    """Everything that Holdfast would write for a user goes to a throw-away folder."""
    here = Surroundings.from_environment()
    assert here.state_dir == str(nobodys_home / ".local" / "state" / "holdfast")
    assert here.config_file == str(nobodys_home / ".config" / "holdfast" / "holdfast.toml")
    assert here.session is None
    assert "CLAUDE_PROJECT_DIR" not in os.environ
