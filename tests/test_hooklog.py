"""The hook log: one line a run, bounded, and no reason to fail."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from holdfast.records import hooklog

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_line_is_bounded_and_valid() -> None:
    """Whatever was noted."""
    run = hooklog.of_run(NOW, 1.23456, "", "\ud800", "")
    told = ["数据" * 1000] * 50
    line = hooklog.line(hooklog.record("x" * 500, "r" * 5000, "claude", "🚀" * 1000, told, run))
    assert len(line) <= hooklog.LONGEST_LINE
    record = json.loads(line)
    assert record["ms"] == 1.2
    assert record["why"][-1] == "…"


def test_it_is_rotated(tmp_path: Path) -> None:
    """One generation is kept; reading goes over both, oldest first."""
    line = json.dumps({"n": 0, "pad": "x" * 1000}).encode() + b"\n"
    for _ in range(hooklog.LARGEST // len(line) + 2):
        hooklog.add(hooklog.path(str(tmp_path), "/p"), line)
    hooklog.add(hooklog.path(str(tmp_path), "/p"), b'{"n": 1}\n')
    path = Path(hooklog.path(str(tmp_path), "/p"))
    assert path.stat().st_size < hooklog.LARGEST
    assert Path(f"{path}.1").exists()
    assert list(hooklog.read(str(tmp_path), "/p"))[-1] == {"n": 1}


def test_parallel_writers_mix_no_lines(tmp_path: Path) -> None:
    """Real processes, each with its own lines, across a rotation."""
    code = (
        "import sys; from holdfast.records import hooklog; from holdfast import __version__;"
        "import json; pad = 'x' * 2000;"
        "log = hooklog.path(sys.argv[1], '/p');"
        "[hooklog.add(log, json.dumps({'who': sys.argv[2], 'n': n, 'pad': pad})"
        ".encode() + b'\\n') for n in range(100)]"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), str(number)])
        for number in range(8)
    ]
    assert {process.wait(60) for process in processes} == {0}
    path = Path(hooklog.path(str(tmp_path), "/p"))
    lines = path.read_bytes().splitlines()
    older = Path(f"{path}.1")
    lines += older.read_bytes().splitlines() if older.exists() else []
    assert len({(record["who"], record["n"]) for record in map(json.loads, lines)}) == 800


def test_nowhere_to_write_is_no_error(tmp_path: Path) -> None:
    """A file where the folder should be, or no folder at all."""
    (tmp_path / "projects").write_text("", encoding="utf-8")
    hooklog.add(hooklog.path(str(tmp_path), "/p"), b"{}\n")
    assert list(hooklog.read(None, "/p")) == []
    assert list(hooklog.read(str(tmp_path), "/p")) == []


def test_a_broken_line_is_passed_over(tmp_path: Path) -> None:
    """Torn by a full disk, say."""
    for line in (b'{"n": 1}\n', b'{"n": \n', b"[]\n", b'{"n": 2}\n'):
        hooklog.add(hooklog.path(str(tmp_path), "/p"), line)
    assert [record["n"] for record in hooklog.read(str(tmp_path), "/p")] == [1, 2]


def test_a_fifo_in_place_of_the_log_holds_up_no_hook(tmp_path: Path) -> None:
    """Opening it to write waited for a reader."""
    target = hooklog.path(str(tmp_path), "/p")
    os.makedirs(os.path.dirname(target))
    os.mkfifo(target)
    hooklog.add(hooklog.path(str(tmp_path), "/p"), b"{}\n")
