"""Programs from the package registry, one folder for each, kept between runs."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from filelock import FileLock

CLIENTS = Path(__file__).parents[2] / ".cache" / "clients"
# Hundreds of megabytes come over a line of which we know nothing.
PATIENCE = 300.0


class NotInstalled(Exception):
    """A version that could not be had, and why."""


def installed(
    name: str,
    packages: Sequence[str],
    program: Callable[[Path], Path],
    clients: Path = CLIENTS,
) -> Path:
    """What *program* finds in the folder of that name, where the packages are.

    Whoever comes second waits for the first, and installs nothing.
    """
    clients.mkdir(parents=True, exist_ok=True)
    folder = clients / name
    with FileLock(clients / f"{name}.lock", timeout=2 * PATIENCE):
        if not (folder / "program").exists():
            # A folder with that file is whole: it is made aside, and then renamed.
            shutil.rmtree(folder, ignore_errors=True)
            aside = Path(tempfile.mkdtemp(dir=clients, prefix=f"{name}-"))
            try:
                _install(packages, aside)
                found = program(aside).relative_to(aside)
                (aside / "program").write_text(str(found), encoding="utf-8")
                aside.rename(folder)
            finally:
                shutil.rmtree(aside, ignore_errors=True)
    return folder / (folder / "program").read_text(encoding="utf-8")


def _install(packages: Sequence[str], folder: Path) -> None:
    quietly = ["--no-audit", "--no-fund", "--no-update-notifier", "--ignore-scripts"]
    # Without a network npm would try for minutes.
    soon = ["--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=2000"]
    named = " ".join(packages)
    try:
        done = subprocess.run(
            ["npm", "install", "--prefix", str(folder), *quietly, *soon, *packages],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NotInstalled(f"npm did not install {named} in {PATIENCE} s") from None
    if done.returncode != 0:
        reasons = [line for line in done.stderr.splitlines() if line.startswith("npm error")]
        raise NotInstalled(f"npm could not install {named}: {'; '.join(reasons[:3])}")
