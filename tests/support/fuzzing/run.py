"""The long run: `make fuzz`. Each target in a process of its own, guided by coverage, with figures at the end.

Where atheris cannot be had, input is made by chance alone, and the run says so.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import NamedTuple

from fuzzing.edits import edited

_SLOWEST = 1  # seconds for one input
_LARGEST = 256 * 1024
_FOUND = Path(".cache/fuzz")
_MEMORY = 600  # MB of the whole process: what is measured for coverage is much of it


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=10, help="for each target")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--target", action="append", help="one alone; all without it")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        return _guided(given.inside, given.seconds, given.seed)
    return _all(given.target, given.seconds, given.seed)


def _all(names: list[str] | None, seconds: int, seed: int) -> int:
    from fuzzing.targets import TARGETS

    guided = _has_atheris()
    print("guided by coverage (atheris)" if guided else _UNGUIDED, f"seed {seed}", sep="; ")
    run = _in_process if guided else _unguided
    tries = [run(name, seconds, seed) for name in names or TARGETS]
    inputs = sum(each.inputs for each in tries)
    spent = sum(each.seconds for each in tries) / 3600
    failed = sum(not each.held for each in tries)
    print(f"{inputs:,} inputs in {len(tries)} targets, {spent:.2f} hours, {failed} targets failed")
    return 1 if failed else 0


class Tried(NamedTuple):
    """What came of one target."""

    held: bool
    inputs: int
    seconds: float


_UNGUIDED = "atheris is not installed for this Python: the same input, but nothing guides it"


def _has_atheris() -> bool:
    try:
        import atheris
    except ImportError:
        return False
    return bool(atheris)


def _in_process(name: str, seconds: int, seed: int) -> Tried:
    begun = time.monotonic()
    command = [sys.executable, "-m", "fuzzing.run", "--inside", name]
    command += ["--seconds", str(seconds), "--seed", str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    counted = re.search(r"number_of_executed_units:\s+(\d+)", done.stderr)
    inputs = int(counted[1]) if counted else 0
    covered = re.findall(r"cov: (\d+)", done.stderr)
    memory = re.search(r"peak_rss_mb:\s+(\d+)", done.stderr)
    edges = f"{covered[0]} edges at first, {covered[-1]} at last" if covered else "coverage unknown"
    held = done.returncode == 0
    word = "ok" if held else "FAILED"
    print(
        f"{name}: {word}: {inputs:,} inputs, {edges}, {memory[1] if memory else '?'} MB", flush=True
    )
    if not held:
        print(
            f"what it was is in {_FOUND / name}\n{done.stdout}\n{done.stderr[-6000:]}", flush=True
        )
    return Tried(held, inputs, time.monotonic() - begun)


def _guided(name: str, seconds: int, seed: int) -> int:
    import atheris

    with atheris.instrument_imports(include=["holdfast"]):
        from fuzzing.house import House
        from fuzzing.targets import TARGETS, corpus
    target = TARGETS[name]
    # The folder stays where the process is killed for what it has found; the system clears it.
    folder = Path(tempfile.mkdtemp(prefix="holdfast-fuzz-", dir=_quick_folder()))
    house = House(folder / "house")
    seeds = folder / "seeds"
    seeds.mkdir()
    known = [path.read_bytes() for path in corpus(name)]
    for number, data in enumerate((*target.seeds, *known)):
        (seeds / str(number)).write_bytes(data)

    def check(data: bytes) -> None:
        house.clear()
        target.check(house, data)

    def mutated(data: bytes, most: int, random: int) -> bytes:
        return edited(data, Random(random))[:most]  # noqa: S311  # chosen, not secret

    found = _FOUND / name
    found.mkdir(parents=True, exist_ok=True)
    options = [f"-max_total_time={seconds}", f"-seed={seed % 2**31}", f"-timeout={_SLOWEST}"]
    options += [f"-max_len={_LARGEST}", f"-rss_limit_mb={_MEMORY}", f"-artifact_prefix={found}/"]
    arguments = [name, *options, "-print_final_stats=1", str(seeds)]
    atheris.Setup(arguments, check, custom_mutator=mutated)
    atheris.Fuzz()
    return 0


def _quick_folder() -> str | None:
    """In memory where there is such a folder: a disk is not what is tried here."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def _unguided(name: str, seconds: int, seed: int) -> Tried:
    from fuzzing.house import House
    from fuzzing.targets import TARGETS

    target, random, inputs = TARGETS[name], Random(seed), 0  # noqa: S311
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(dir=_quick_folder()) as folder:
        house = House(Path(folder))
        while time.monotonic() - begun < seconds:
            data, inputs = edited(random.choice(target.seeds), random), inputs + 1
            house.clear()
            try:
                target.check(house, data)
            except Exception as error:  # noqa: BLE001  # whatever it is, it was not foreseen
                kept = _FOUND / name / "failed"
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_bytes(data)
                print(f"{name}: FAILED: what it was is in {kept}: {error!r}", flush=True)
                return Tried(False, inputs, time.monotonic() - begun)
    print(f"{name}: ok: {inputs:,} inputs", flush=True)
    return Tried(True, inputs, time.monotonic() - begun)


if __name__ == "__main__":
    sys.exit(main())
