"""The client from the package registry, one folder for each version, kept between runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from filelock import FileLock

CLIENTS = Path(__file__).parents[3] / ".cache" / "clients"
# Hundreds of megabytes come over a line of which we know nothing.
PATIENCE = 300.0


class NotInstalled(Exception):
    """A version that could not be had, and why."""


def installed(version: str, clients: Path = CLIENTS) -> Path:
    """The client's binary. Whoever comes second waits for the first, and installs nothing."""
    clients.mkdir(parents=True, exist_ok=True)
    folder = clients / version
    with FileLock(clients / f"{version}.lock", timeout=2 * PATIENCE):
        if not folder.exists():
            # A folder with the version's name is whole: it is made aside, and then renamed.
            aside = Path(tempfile.mkdtemp(dir=clients, prefix=f"{version}-"))
            try:
                _install(version, aside)
                aside.rename(folder)
            finally:
                shutil.rmtree(aside, ignore_errors=True)
    return folder / (folder / "binary").read_text(encoding="utf-8")


def _install(version: str, folder: Path) -> None:
    quietly = ["--no-audit", "--no-fund", "--no-update-notifier", "--ignore-scripts"]
    # Without a network npm would try for minutes.
    soon = ["--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=2000"]
    package = f"@anthropic-ai/claude-code@{version}"
    try:
        done = subprocess.run(
            ["npm", "install", "--prefix", str(folder), *quietly, *soon, package],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NotInstalled(f"npm did not install {package} in {PATIENCE} s") from None
    if done.returncode != 0:
        reasons = [line for line in done.stderr.splitlines() if line.startswith("npm error")]
        raise NotInstalled(f"npm could not install {package}: {'; '.join(reasons[:3])}")
    (folder / "binary").write_text(str(_binary(version, folder)), encoding="utf-8")


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
            return candidate.relative_to(folder)
    raise NotInstalled(f"no binary of {version} starts here, of {[each.name for each in found]}")
