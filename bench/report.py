"""The table for people, the record for the next run, and what has changed since the last one."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path

from bench.figures import MB, MS, TIMES, F, Row, compare

TABLE, RECORD = Path("bench/RESULTS.md"), Path("bench/results.json")
_DECIMALS = {F: 2, TIMES: 2, MS: 2, MB: 0}

_HEAD = """\
# How fast the hooks are

Made by `make bench`; [docs/speed.md](../docs/speed.md) says what is measured and how to read it. **F** is
an interpreter that parses the input, run right before each case. Figures in F, and in times what the run named in the row
takes, mean something on another machine; milliseconds and megabytes are this one's.
"""


def machine() -> str:
    return f"Python {platform.python_version()}, {platform.system()}, {os.cpu_count()} cores"


def last_committed(root: Path) -> dict[str, Row] | None:
    """The rows of the record in the last commit, by their names; None where there is no record."""
    shown = subprocess.run(
        ["git", "show", f"HEAD:{RECORD}"], cwd=root, capture_output=True, check=False
    )
    if shown.returncode != 0:
        return None
    return {row.case: row for row in map(Row.of_json, json.loads(shown.stdout)["rows"])}


def record(rows: Sequence[Row]) -> str:
    kept = {"machine": machine(), "rows": [row.as_json() for row in rows]}
    return json.dumps(kept, indent=1) + "\n"


def table(rows: Sequence[Row], before: dict[str, Row] | None, *, whole: bool) -> str:
    """All that is printed and written; *whole* where no case was left out."""
    missed = [row for row in rows if row.met is False]
    judged = sum(row.met is not None for row in rows)
    lines = [
        _HEAD,
        f"{machine()}. {judged - len(missed)} of {judged} limits are met.",
        "",
        "| case | figure | ± | limit | met | ms | since the last |",
        "|---|---:|---:|---:|---|---:|---|",
        *(_line(row, before) for row in rows),
        "",
        _compared(rows, before, whole=whole),
    ]
    return "\n".join(lines) + "\n"


def _line(row: Row, before: dict[str, Row] | None) -> str:
    met = {None: "", True: "yes", False: "**no**"}[row.met]
    cells = [
        row.case,
        _shown(row.figure, row.unit),
        f"{(row.high - row.low) / 2:.{_DECIMALS[row.unit]}f}",
        "" if row.limit is None else _shown(row.limit, row.unit, short=True),
        met,
        "" if row.milliseconds is None else f"{row.milliseconds:.1f}",
        "" if before is None else _change(row, before),
    ]
    return f"| {' | '.join(cells)} |"


def _shown(figure: float, unit: str, *, short: bool = False) -> str:
    shown = f"{figure:g}" if short else f"{figure:.{_DECIMALS[unit]}f}"
    return f"{shown} {unit}"


def _change(row: Row, before: dict[str, Row]) -> str:
    change = compare(row, before.get(row.case))
    if change is None:
        return "new"
    shown = f"{change.share:+.0%}"
    return (
        f"**{shown} {change.told}**"
        if change.told == "worse"
        else f"{shown} {change.told}".rstrip()
    )


def _compared(rows: Sequence[Row], before: dict[str, Row] | None, *, whole: bool) -> str:
    if before is None:
        return f"The last commit has no {RECORD}, so nothing is compared."
    worse = [
        row.case
        for row in rows
        if (it := compare(row, before.get(row.case))) and it.told == "worse"
    ]
    lines = [
        f"Compared with {RECORD} of the last commit. Worse or better is said where the intervals of the",
        "two runs do not meet and more than three per cent lie between; all else may be chance.",
    ]
    lines += [f"Worse: {case}." for case in worse]
    gone = sorted(before.keys() - {row.case for row in rows}) if whole else []
    lines += [f"No longer measured: {case}." for case in gone]
    return "\n".join(lines)
