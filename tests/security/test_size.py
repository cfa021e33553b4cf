"""However large or deep the input is, a hook ends soon, takes little memory, and restores what there is besides."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.files.regular import read_file
from holdfast.testing import Project, simulate
from measured import Run, measured

MB = 1_000_000
MEMORY = 200  # MB
SECONDS = 1.0  # beyond what the start of the process and an ordinary restore take
START = simulate.Session("session-1", ".").session_start()
_STATE = b'{"workflow": "Huge", "workflow_type": "custom", "phase": 1, "x": %s}'

# Made when they are needed: all of them together are hundreds of megabytes.
PAYLOADS: dict[str, Callable[[], bytes]] = {
    "50 MB": lambda: json.dumps({**START, "x": "x" * 50 * MB}).encode(),
    "50 MB of nothing": lambda: b" " * 50 * MB,
    "50 MB of a summary": lambda: json.dumps(
        {**START, "hook_event_name": "PostCompact", "compact_summary": "a\n" * 25 * MB}
    ).encode(),
    "8 MB of a summary": lambda: json.dumps(
        {**START, "hook_event_name": "PostCompact", "compact_summary": "word, 1.2\n" * 700_000}
    ).encode(),
    "8 MB of empty objects": lambda: json.dumps(START)[:-1].encode() + b', "x": [' + b"{}," * 2_600_000 + b"0]}",
    "levels": lambda: json.dumps(START)[:-1].encode() + b', "x": ' + b"[" * MB + b"]" * MB + b"}",
}  # fmt: skip

_ALIASES = "".join(
    f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefg", "bcdefgh", strict=True)
)
FILES: dict[str, dict[str, Callable[[], bytes]]] = {
    "CLAUDE.local.md": {
        "one line of 4 MB": lambda: b"x" * 4 * MB,
        "one line of 10 MB": lambda: b"x" * 10 * MB,
        "one field of 4 MB": lambda: b"Workflow: " + b"x " * 2 * MB,
        "nothing but NUL": lambda: b"\0" * 4 * MB,
        "levels": lambda: b"".join(b"  " * n + b"- a\n" for n in range(1_500)),
        "quotes in quotes": lambda: b"> " * 2 * MB,
    },
    "PLAN.md": {
        "a YAML bomb": f"---\na: &a [x]\n{_ALIASES}workflow: *h\n---\n# Plan\n".encode,
        "YAML in levels": lambda: b"---\nworkflow: " + b"[" * 60_000 + b"\n---\n# Plan\n",
        "boxes": lambda: b"# Plan\n\n" + b"- [ ] a\n" * 500_000,
        "headings": lambda: b"## Phase 1: a\n" * 350_000,
        "bold phases": lambda: b"# Plan\n\n**Status**: In Progress\n\n" + b"**Phase 1**: a\n" * 300_000,
        "a heading of one bracket": lambda: b"# " + b"(" * 5_000_000,
        "long headings of one bracket": lambda: (b"## Phase 1: " + b"(" * 1_950 + b"\n- [ ] a\n") * 2_400,
        "long cells of one bracket": lambda: b"| a | Status |\n|---|---|\n" + (b"| b | " + b"(" * 1_900 + b" |\n") * 2_400,
        "phases with signs": lambda: "# Plan\n\n**Status**: In Progress\n\n{}".format("- ✅ Phase 1: a\n" * 270_000).encode(),
    },
    "untracked/workflow-state/w/state-w-1.json": {
        "levels": lambda: _STATE % (b"[" * 100_000 + b"]" * 100_000),
        "one text of 4 MB": lambda: _STATE % (b'"' + b"x" * 4 * MB + b'"'),
        "4 MB of empty objects": lambda: _STATE % (b"[" + b"{}," * 1_300_000 + b"0]"),
        "a number of 4 MB": lambda: _STATE % (b"9" * 4 * MB),
    },
    ".claude/agent-state.json": {"4 MB of empty lists": lambda: b'{"tasks": [' + b"[]," * 1_300_000 + b"0]}"},
    "workspace/workflow-state/generation-1.json": {"many steps": lambda: b'{"workflow_id": "generation-1", "generation": {"steps": [' + b"{}," * 900_000 + b"{}]}}"},
    ".claude/holdfast.toml": {
        "levels": lambda: b"plans = " + b"[" * 30_000,
        "a number": lambda: b"stale_days = " + b"9" * 60_000,
        "dots": lambda: b"a" + b".a" * 20_000 + b" = 1\n",
    },
    ".claude/holdfast/unfinished/gated.json": {"40 MB": lambda: b'{"changes": ["' + "\N{GRINNING FACE}".encode() * 10 * MB + b'"]}'},
    ".claude/holdfast/ledger.json": {"4 MB of empty objects": lambda: b'{"finished": [' + b"{}," * 1_300_000 + b"0]}"},
}  # fmt: skip
# Written anew, or set aside.
OUR_OWN = {".claude/holdfast/ledger.json", ".claude/holdfast/unfinished/gated.json"}
_EACH = [(path, name) for path, kinds in FILES.items() for name in kinds]


@pytest.fixture
def project(holdfast_project: Project) -> Project:
    holdfast_project.run("start", "Healthy", "--phases", "A,B", session="session-1")
    return holdfast_project


def _in_bounds(run: Run, ordinary: Run) -> None:
    assert run.code in {0, 1}, run
    assert "Traceback" not in run.aside
    assert run.megabytes < MEMORY
    assert run.seconds < ordinary.seconds + SECONDS


def _start(project: Project) -> Run:
    payload = {**START, "cwd": str(project.root)}
    return measured(project, "hook", stdin=json.dumps(payload).encode())


@pytest.mark.parametrize("name", PAYLOADS)
def test_a_payload_of_any_size(name: str, project: Project) -> None:
    """It is read to its end, so that the client's pipe does not break."""
    ordinary = _start(project)
    _in_bounds(measured(project, "hook", stdin=PAYLOADS[name]()), ordinary)


def test_copies_of_any_number(project: Project) -> None:
    """Of states that are not there: they are looked through for one that was deleted."""
    copies = project.root / ".claude" / "holdfast" / "copies"
    ordinary = _start(project)
    for number in range(20):
        path = f"untracked/workflow-state/x/state-{number}.json"
        copy = {"path": path, "good": _STATE.decode() % f'"{"x" * 5 * MB}"', "previous": None}
        (copies / path.replace("/", "%2F")).write_text(json.dumps(copy))
    project.declare("New")
    run = _start(project)
    _in_bounds(run, ordinary)
    assert "New" in run.said


@pytest.mark.parametrize(("path", "name"), _EACH)
def test_a_file_of_any_size(path: str, name: str, project: Project) -> None:
    """It is kept, in its place or set aside, and the workflow that has nothing to do with it is restored."""
    if path.startswith(".claude/holdfast/"):  # where somebody looks at it
        project.write("workspace/workflow-state/x.json", "{}")
        project.write("workflow/x/workflow-state.json", '{"workflow_id": "x"}')
    ordinary = _start(project)
    data = FILES[path][name]()
    written = project.write(path, data)
    run = _start(project)
    _in_bounds(run, ordinary)
    assert "Healthy" in run.said
    aside = (project.root / ".claude" / "holdfast" / "quarantine").glob("*")
    kept = [each.read_bytes() for each in (written, *aside) if each.exists()]
    assert data in kept or path in OUR_OWN or _has_all(written, data)


def _has_all(written: Path, values: bytes) -> bool:
    """Whether the file still says all *values*, where a hook has added what was missing."""
    before, after = json.loads(values), json.loads(written.read_bytes())
    return isinstance(before, dict) and before.items() <= after.items()


def test_a_small_file_takes_little_memory(project: Project) -> None:
    """Room was made for the largest that there may be: a process with little of it could not read any."""
    small = project.write("small.json", "{}")
    tracemalloc.start()
    try:
        assert read_file(small, 1_000 * MB)[0] == b"{}"
        assert tracemalloc.get_traced_memory()[1] < MB
    finally:
        tracemalloc.stop()
