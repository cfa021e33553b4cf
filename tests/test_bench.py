"""The tool that measures the hooks: what it makes of figures, and that it runs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench import report
from bench.__main__ import every, measured
from bench.cases import Bench
from bench.figures import MB, F, Limit, Row, compare, quantile
from bench.measure import Run, Timed, interleaved, peak
from bench.projects import Project
from bench.wheel import Installed, Programs

SHORT = Limit(2, F)


def row(figure: float, off: float = 0.1, **more: object) -> Row:
    kept = {"limit": 2.0, "milliseconds": 20.0, "rounds": 40, **more}
    return Row("a case", figure, F, figure - off, figure + off, **kept)  # type: ignore[arg-type]


def test_the_median_has_an_interval_that_chance_may_move_it_by() -> None:
    """Of forty rounds it goes eight ranks up and down, wherever the outliers are."""
    found = quantile([*range(39), 1000])
    assert (found.figure, found.low, found.high) == (19.5, 11, 28)
    assert quantile([7]) == (7, 7, 7)


def test_the_99th_percentile_lies_between_what_was_measured() -> None:
    """Of a thousand calls, ten are slower."""
    found = quantile(range(1000), 0.99)
    assert 988 < found.figure < 991
    assert found.low < found.figure < found.high <= 999


@pytest.mark.parametrize(
    ("now", "before", "told"),
    [
        (row(1.5), row(1.2), "worse"),
        (row(1.2), row(1.5), "better"),
        (row(1.5, 0.3), row(1.2), ""),  # the intervals meet
        (row(1.02, 0.001), row(1.0, 0.001), ""),  # they do not, and two runs may differ by as much
        (row(1.5, rounds=3), row(1.2), ""),  # too few rounds to know of any spread
    ],
)
def test_only_what_is_more_than_noise_is_called_worse(now: Row, before: Row, told: str) -> None:
    """Else every run would have something to say."""
    change = compare(now, before)
    assert change is not None
    assert change.told == told
    assert change.share == pytest.approx(now.figure / before.figure - 1)


def test_what_is_new_or_measured_in_another_unit_is_not_compared() -> None:
    """There is nothing beside it."""
    assert compare(row(1), None) is None
    assert compare(Row("a case", 1, MB, 1, 1), row(1)) is None


def test_the_table_marks_what_is_missed_worse_new_and_gone() -> None:
    """Each row says whether its limit is met, and what became of it."""
    before = {"a case": row(1.2), "an old one": row(1)}
    text = report.table([row(2.5), Row("a new one", 3, F, 3, 3)], before, whole=True)
    assert "0 of 1 limits are met" in text
    assert "| a case | 2.50 F | 0.10 | 2 F | **no** | 20.0 | **+108% worse** |" in text
    assert "| a new one | 3.00 F | 0.00 |  |  |  | new |" in text
    assert "\nWorse: a case.\n" in text
    assert "No longer measured: an old one." in text
    assert "nothing is compared" in report.table([row(1)], None, whole=True)


def test_the_record_of_the_last_commit_is_read_back(tmp_path: Path) -> None:
    """Not the file that lies there, which the last run may have left."""
    git = ["git", "-C", str(tmp_path), "-c", "user.name=test", "-c", "user.email=test@localhost"]
    subprocess.run([*git, "init", "-q"], check=True)
    assert report.last_committed(tmp_path) is None
    path = tmp_path / report.RECORD
    path.parent.mkdir()
    path.write_text(report.record([row(1.2)]), encoding="utf-8")
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "measured"], check=True)
    path.write_text("what an interrupted run left", encoding="utf-8")
    assert report.last_committed(tmp_path) == {"a case": row(1.2)}


def python(tmp_path: Path, code: str, told: str) -> Run:
    return Run(Project(tmp_path / "here", "holdfast"), [[sys.executable, "-c", code]], b"", told)


def test_a_run_that_answers_something_else_is_not_measured(tmp_path: Path) -> None:
    """However fast it was."""
    with pytest.raises(SystemExit, match="should tell 'yes'"):
        python(tmp_path, "print('no')", "yes").once()


def test_an_answer_that_should_be_empty_has_to_be(tmp_path: Path) -> None:
    """A hook with nothing to do says nothing."""
    with pytest.raises(SystemExit, match="should tell ''"):
        python(tmp_path, "print('something')", "").once()


def test_a_run_that_answers_differently_is_not_measured(tmp_path: Path) -> None:
    """Where nothing changed, every round has the same answer."""
    run = python(tmp_path, "import time; print('yes', time.time_ns())", "yes")
    run.once()
    with pytest.raises(SystemExit, match="nothing had changed"):
        run.once()


def test_a_project_that_should_stay_as_it_is_has_to(tmp_path: Path) -> None:
    """A case that saves something is not the one where nothing has changed."""
    run = python(tmp_path, "open('state', 'a').write('x'); print('yes')", "yes")
    with pytest.raises(SystemExit, match="nothing had to be saved"):
        interleaved([Timed("a case", SHORT, run, run)], 1)


def test_memory_is_that_of_the_process_alone(tmp_path: Path) -> None:
    """Not of the one that measures, which is larger, and all of what it had at most."""
    held = [b"x" * 1_000_000 for _ in range(150)]
    small = peak("small", 80, python(tmp_path / "small", "print('yes')", "yes"), 1)
    code = "x = b'x' * 60_000_000; del x; print('yes')"
    large = peak("large", 80, python(tmp_path / "large", code, "yes"), 1)
    assert len(held) == 150
    assert 4 < small.figure < 30
    assert 55 < large.figure - small.figure < 65
    assert small.met
    assert large.unit == MB


# One of each way to measure.
SMALL = {
    "floor: a hook by hand, with an atomic write and nothing else",
    "PreCompact with a change to save, skill, against the naive hook",
    "MCP server, PreToolUse(Edit), a workflow, 99th percentile",
    "memory: PreCompact, nothing changed",
}


def test_a_small_run_of_the_whole_tool(tmp_path: Path) -> None:
    """With the programs of this environment in place of the wheel's."""
    installed = Installed()
    installed.hooks = installed.server = Programs.of(Path(sys.executable).parent)
    chosen = [case for case in every() if case.name in SMALL]
    rows = measured(chosen, Bench(tmp_path, installed), 1)
    assert {each.case for each in rows} == SMALL
    assert all(each.figure > 0 for each in rows)
    assert [Row.of_json(each) for each in json.loads(report.record(rows))["rows"]] == rows


def test_every_case_has_a_name_of_its_own() -> None:
    """The record of a run is read by them."""
    names = [case.name for case in every()]
    assert len(names) == len(set(names))
