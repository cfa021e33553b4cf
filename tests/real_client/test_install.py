"""What a client that cannot be installed leaves behind: a reason, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from realclient.install import NotInstalled, installed


@pytest.mark.needs("npm")
def test_a_version_that_cannot_be_had_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(NotInstalled, match=r"claude-code@0\.0\.0-never"):
        installed("0.0.0-never", tmp_path)
    assert [each.name for each in tmp_path.iterdir() if each.is_dir()] == []
