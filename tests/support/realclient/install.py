"""The client from the package registry, one folder for each version."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import npm
from holdfast.agents.clients import CLAUDE
from npm import NotInstalled

__all__ = ["NEWEST", "NotInstalled", "installed"]

# For runs that take a minute or more. In what a compaction sends and takes the versions are compared elsewhere.
NEWEST = pytest.mark.parametrize("version", CLAUDE.tried[-1:], indirect=True)


def installed(version: str, clients: Path = npm.CLIENTS) -> Path:
    """The client's binary."""
    package = f"@anthropic-ai/claude-code@{version}"
    return npm.installed(version, [package], lambda folder: _binary(version, folder), clients)


def _binary(version: str, folder: Path) -> Path:
    """The one that starts here. npm may have fetched those for two C libraries."""
    home = folder / "home"
    home.mkdir()
    found = sorted(folder.glob("node_modules/@anthropic-ai/claude-code-*/claude"))
    for candidate in found:
        try:
            said = subprocess.run(
                [candidate, "--version"],
                env={"PATH": os.environ["PATH"], "HOME": str(home), "DISABLE_AUTOUPDATER": "1"},
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
        except OSError:
            continue  # made for another machine
        if said.stdout.startswith(version):
            return candidate
    raise NotInstalled(f"no binary of {version} starts here, of {[each.name for each in found]}")
