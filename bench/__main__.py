"""Measure all rows in one run, print the table, and keep it.

ROUNDS=10 is for a quick look; CASES=precompact runs only what has that in its name, and keeps nothing.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench import cases, report, server
from bench.cases import Bench, Case, Peak
from bench.figures import Row
from bench.measure import Timed, interleaved, peak
from bench.server import Grown, Served
from bench.wheel import ROOT, Installed

_ROUNDS = 40
_PEAKS = 3  # memory hardly differs from run to run

Kind = Case | Peak | Served | Grown


def every() -> list[Kind]:
    """In the order of the table."""
    return [
        *cases.floors(),
        *cases.idle(),
        *cases.working(),
        *cases.session(),
        *cases.agents(),
        *cases.commands(),
        *server.served(),
        *cases.memory(),
        *cases.growing(),
        *server.grown(),
    ]


def measured(chosen: Sequence[Kind], bench: Bench, rounds: int) -> list[Row]:
    """What takes turns first, then the others, one by one; in the order that was given."""
    print("making the projects", file=sys.stderr)
    timed = [
        Timed(case.name, case.limit, case.run(bench), case.against(bench), case.every)
        for case in chosen
        if isinstance(case, Case)
    ]
    rows = {row.case: row for row in interleaved(timed, rounds)}
    for case in chosen:
        match case:
            case Peak():
                print(case.name, file=sys.stderr)
                most = min(rounds, _PEAKS)
                rows[case.name] = peak(case.name, case.megabytes, case.run(bench), most)
            case Served() | Grown():
                print(case.name, file=sys.stderr)
                rows[case.name] = case.measure(bench, rounds)
    return [rows[case.name] for case in chosen]


def main() -> int:
    rounds, asked = int(os.environ.get("ROUNDS", _ROUNDS)), os.environ.get("CASES", "")
    chosen = [case for case in every() if asked.casefold() in case.name.casefold()]
    if not chosen:
        print(f"no case has {asked!r} in its name", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as name:
        bench = Bench(Path(name), Installed())
        rows = measured(chosen, bench, rounds)
    text = report.table(rows, report.last_committed(ROOT), whole=not asked)
    print(text)
    if not asked:
        (ROOT / report.TABLE).write_text(text, encoding="utf-8")
        (ROOT / report.RECORD).write_text(report.record(rows), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
