"""Measure each hook's wall clock, as a ratio to a bare interpreter that parses the same input.

Machines differ and are noisy, so every case is run in turn with the bare interpreter (F) and the
medians are compared. The package is measured as users have it: a wheel in an environment of its
own. Writes bench/RESULTS.md and bench/results.json.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".cache" / "bench"
ROUNDS = int(os.environ.get("ROUNDS", "40"))

FLOOR = "import json,sys; json.load(sys.stdin)"
# What a first attempt at such a hook looks like; it does nothing but load what it would need.
NAIVE = (
    "import json,sys; import pydantic, frontmatter, filelock;"
    "M = type('M', (pydantic.BaseModel,), {'__annotations__': {'workflow': str}});"
    "json.load(sys.stdin)"
)


@dataclass
class Case:
    name: str
    command: list[str]
    payload: bytes
    prepare: Callable[[int], None] = lambda _: None
    beside: list[list[str]] = field(default_factory=list)  # run at the same moment
    cwd: Path | None = None
    times: list[float] = field(default_factory=list)


def install() -> Path:
    """A fresh environment with the wheel of this tree; returns its bin folder."""
    shutil.rmtree(CACHE, ignore_errors=True)
    environment = CACHE / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    bin_folder = environment / "bin"
    pip = [os.environ.get("BENCH_PIP_PYTHON", "python3"), "-m", "pip"]
    subprocess.run(
        [
            *pip,
            *("--python", bin_folder / "python", "install", "--quiet"),
            *("--disable-pip-version-check", "--constraint", ROOT / "constraints.txt", ROOT),
        ],
        check=True,
    )
    return bin_folder


def declare(project: Path, phase: int) -> None:
    (project / "CLAUDE.local.md").write_text(
        "# Current Workflow State\n\nWorkflow: Bench\n"
        f"Phase: {phase}/1000 - Step {phase}\n\n@docs/a.md\n@docs/b.md\n\n"
        "## Key Reminders\n- Keep it fast\n- Keep it right\n",
        encoding="utf-8",
    )


def pipelines(bin_folder: Path, project: Path, count: int) -> Path:
    """A project with so many workflows, one of ten failed, and their index."""
    states = project / "workspace" / "workflow-state"
    states.mkdir(parents=True)
    (project / ".git").mkdir()
    steps = [{"step": number, "name": "A step", "status": "completed"} for number in range(1, 8)]
    for number in range(count):
        workflow_id = f"generation-scene-{number:05}-20251110-143000"
        state = {
            "workflow_id": workflow_id,
            "workflow_type": "generation",
            "status": "completed" if number % 10 else "failed",
            "created_at": "2025-11-10T14:30:00Z",
            "updated_at": "2025-11-10T14:35:00Z",
            "generation": {"scene_id": f"{number:05}", "total_steps": 7, "steps": steps},
        }
        (states / f"{workflow_id}.json").write_text(json.dumps(state), encoding="utf-8")
    session = [bin_folder / "holdfast", "pipeline", "session", "create", "draft"]
    home = {"PATH": os.environ["PATH"], "HOME": str(project.parent / "home")}
    subprocess.run(session, cwd=project, env=home, check=True, stdout=subprocess.DEVNULL)
    return project


def cases(bin_folder: Path, folder: Path) -> list[Case]:
    empty, kept, moving = folder / "empty", folder / "kept", folder / "moving"
    for project in (empty, kept, moving):
        (project / ".git").mkdir(parents=True)
    for project in (kept, moving):
        declare(project, 1)
        (project / "docs").mkdir()
        for name in ("a", "b"):
            (project / "docs" / f"{name}.md").write_text("text\n" * 100, encoding="utf-8")

    def payload(event: str, project: Path, **fields: str) -> bytes:
        common = {"session_id": project.name, "cwd": str(project), "hook_event_name": event}
        return json.dumps(common | fields).encode()

    def status(project: Path) -> bytes:
        used = {"used_percentage": 42}
        sent = {"session_id": project.name, "cwd": str(project), "context_window": used}
        return json.dumps(sent).encode()

    python, hook = str(bin_folder / "python"), [str(bin_folder / "holdfast"), "hook"]
    line = [str(bin_folder / "holdfast"), "statusline"]
    compact = payload("SessionStart", kept, source="compact")
    parts = [[*hook, "--part", str(number)] for number in range(1, 13)]
    read = json.dumps({"file_path": str(kept / "docs" / "a.md")})
    tool = payload("PreToolUse", kept, tool_name="Edit")
    opened = payload("PostToolUse", kept, tool_name="Read").replace(
        b'"tool_name"', b'"tool_input": ' + read.encode() + b', "tool_name"'
    )
    listing = [str(bin_folder / "holdfast"), "pipeline", "list", "--status", "failed", "--json"]
    return [
        Case("bare interpreter (F)", [python, "-c", FLOOR], compact),
        Case("naive hook: pydantic, frontmatter, filelock", [python, "-c", NAIVE], compact),
        Case(
            "nothing to do: no workflow anywhere",
            hook,
            payload("PreCompact", empty, trigger="auto"),
        ),
        Case("nothing to do: not our event", hook, payload("Stop", kept)),
        Case("PreCompact, nothing changed", hook, payload("PreCompact", kept, trigger="auto")),
        Case("SessionStart(compact), nothing changed", hook, compact),
        Case("SessionStart(compact) and 12 parts at once", hook, compact, beside=parts),
        Case("a part of the reading that is sent", parts[0], compact),
        Case("a part of the reading that is not needed", parts[11], compact),
        Case("PreToolUse(Edit), all reading sent", hook, tool),
        Case("PostToolUse(Read), all reading sent", hook, opened),
        Case("SessionStart(startup)", hook, payload("SessionStart", kept, source="startup")),
        Case("statusline", line, status(kept)),
        Case("statusline: no workflow anywhere", line, status(empty)),
        Case(
            "PreCompact with a change to save",
            hook,
            payload("PreCompact", moving, trigger="auto"),
            prepare=lambda round_: declare(moving, round_ + 2),
        ),
        *(
            Case(
                f"pipeline list, those that failed of {count:,}",
                listing,
                b"",
                cwd=pipelines(bin_folder, folder / f"pipelines-{count}", count),
            )
            for count in (100, 10_000)
        ),
    ]


def measure(all_cases: list[Case], environment: dict[str, str]) -> None:
    for round_ in range(-2, ROUNDS):  # two rounds to warm the caches
        for case in all_cases:
            case.prepare(round_ + 2)
            spent = once(case, environment)
            if round_ >= 0:
                case.times.append(spent)


def once(case: Case, environment: dict[str, str]) -> float:
    """Start all that the case consists of, and wait for the last one."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    begun = time.perf_counter()
    running = [
        subprocess.Popen(command, env=environment, cwd=case.cwd, **pipes)
        for command in (case.command, *case.beside)
    ]
    for process in running:
        process.stdin.write(case.payload)
        process.stdin.close()
        process.stdin = None
    said = [process.communicate()[1] for process in running]
    spent = time.perf_counter() - begun
    for process, stderr in zip(running, said, strict=True):
        if process.returncode != 0 or stderr:
            raise SystemExit(f"{case.name}: exit {process.returncode}: {stderr.decode()}")
    return spent


def main() -> None:
    bin_folder = install()
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as name:
        folder = Path(name)
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder / "home")}
        all_cases = cases(bin_folder, folder)
        measure(all_cases, environment)
    floor = statistics.median(all_cases[0].times)
    rows = [
        {
            "case": case.name,
            "ratio": round(statistics.median(case.times) / floor, 2),
            "milliseconds": round(statistics.median(case.times) * 1000, 1),
        }
        for case in all_cases
    ]
    machine = f"Python {platform.python_version()}, {platform.system()}, {os.cpu_count()} cores"
    lines = [
        "# Speed of each hook",
        "",
        "Made by `make bench`. The ratio is to the bare interpreter in the same run; only the ratio",
        "means something on another machine.",
        "",
        f"{machine}, median of {ROUNDS} interleaved rounds.",
        "",
        "| case | ratio to F | ms |",
        "|---|---:|---:|",
        *(f"| {row['case']} | {row['ratio']:.2f} | {row['milliseconds']:.1f} |" for row in rows),
    ]
    text = "\n".join(lines) + "\n"
    print(text)
    (ROOT / "bench" / "RESULTS.md").write_text(text, encoding="utf-8")
    record = {"machine": machine, "rounds": ROUNDS, "rows": rows}
    (ROOT / "bench" / "results.json").write_text(
        json.dumps(record, indent=1) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
