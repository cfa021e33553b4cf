"""Every row of the table: what is measured, against what, and what it may come to at most."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from bench import projects
from bench.figures import TIMES, F, Limit
from bench.measure import Run
from bench.projects import CANONICAL, SKILL, Kind, Project
from bench.wheel import FLOORS, Installed

MANY = 1000
_IDLE, _UNCHANGED, _RESTORED = (Limit(most, F) for most in (1.25, 1.5, 2))
_STATUSLINE, _PARTS = Limit(2, F), Limit(6, F)
_GROWTH = Limit(5, TIMES)  # of some 12 ms; more could be felt
_WORKED, _AS_NAIVE = Limit(2, F), Limit(1.2, TIMES)
_FREE = Limit(math.inf, F)  # measured, because people ask, and held to nothing
_FREE_GROWTH = Limit(math.inf, TIMES)
_SELDOM = 4  # what may take seconds is measured in one of so many rounds
_LARGEST = 4_900_000  # characters; what is larger than 5 MB is not read
_MEMORY = 80  # megabytes
_BARE = "import json,sys; json.load(sys.stdin)"


class Bench:
    """What the cases are made of; each project is made when the first case needs it."""

    def __init__(self, folder: Path, installed: Installed) -> None:
        self.installed = installed
        self._folder = folder
        self._projects: dict[str, Project] = {}

    @property
    def holdfast(self) -> str:
        return self.installed.hooks.holdfast

    def empty(self, name: str = "empty") -> Project:
        """A project without any workflow."""
        return self._once(name, lambda folder: Project(folder, self.holdfast))

    def project(self, kind: Kind, count: int = 1, use: str = "kept") -> Project:
        """One with *count* workflows; cases of another *use* have one of their own."""
        name = f"{kind.name}-{count}-{use}"
        return self._once(name, lambda folder: kind.make(folder, self.holdfast, count))

    def special(self, name: str, prepare: Callable[[Project], None]) -> Project:
        """One with a workflow and something more, settled once more with it."""

        def make(folder: Path) -> Project:
            project = CANONICAL.make(folder, self.holdfast, 1)
            prepare(project)
            project.settle()
            return project

        return self._once(name, make)

    def pipelines(self, count: int) -> Project:
        """One with *count* workflows of which one in ten has failed, and their index."""

        def make(folder: Path) -> Project:
            project = Project(folder, self.holdfast)
            projects.fill_with_pipelines(project, count)
            return project

        return self._once(f"pipelines-{count}", make)

    def _once(self, name: str, make: Callable[[Path], Project]) -> Project:
        if name not in self._projects:
            self._projects[name] = make(self._folder / name)
        return self._projects[name]

    def hook(self, project: Project, event: str, told: str = "", /, **fields: object) -> Run:
        return Run(project, [[self.holdfast, "hook"]], project.payload(event, **fields), told)

    def python(self, *arguments: str) -> Run:
        project = self.empty("floors")
        payload = project.payload("SessionStart", source="compact")
        return Run(project, [[self.installed.hooks.python, *arguments]], payload)


Made = Callable[[Bench], Run]


def bare(bench: Bench) -> Run:
    """F, the ratio's other side."""
    return bench.python("-c", _BARE)


class Case(NamedTuple):
    """Wall clock, as a ratio to another run's."""

    name: str
    limit: Limit
    run: Made
    against: Made = bare
    every: int = 1


class Peak(NamedTuple):
    """The memory of one process."""

    name: str
    megabytes: float
    run: Made


def floors() -> Iterator[Case]:
    def console_script(bench: Bench) -> Run:
        run = bare(bench)
        return Run(run.project, [[bench.installed.hooks.console_script]], run.payload)

    def by_hand(bench: Bench) -> Run:
        project = bench.empty("by-hand")
        command = [bench.installed.hooks.python, str(FLOORS / "by_hand.py")]
        payload = project.payload("SessionStart", source="compact")
        run = Run(project, [command], payload, "The workflow is in phase 1.")
        run.writes = True
        return run

    yield Case("floor: an interpreter that only starts", _FREE, lambda b: b.python("-c", "pass"))
    yield Case("floor: an interpreter that parses the input (F)", _FREE, bare)
    yield Case("floor: the same as a console script of pip", _FREE, console_script)
    yield Case("floor: a hook by hand, with an atomic write and nothing else", _FREE, by_hand)
    name = "floor: a naive hook that loads pydantic, frontmatter and filelock"
    yield Case(name, _FREE, _naive)


def idle() -> Iterator[Case]:
    """Where there is nothing to do."""

    def switched_off_by_user(bench: Bench) -> Run:
        project = bench.special("off-user", lambda it: it.configure("enabled = false\n"))
        return bench.hook(project, "PreCompact", trigger="auto")

    def switched_off_in_project(bench: Bench) -> Run:
        path = ".claude/holdfast.toml"
        project = bench.special("off-project", lambda it: it.write(path, "enabled = false\n"))
        return bench.hook(project, "PreCompact", trigger="auto")

    def switched_off_for_now(bench: Bench) -> Run:
        run = bench.hook(bench.project(CANONICAL), "PreCompact", trigger="auto")
        run.variables = {"HOLDFAST_DISABLE": "1"}
        return run

    def part(bench: Bench) -> Run:
        return _alone(bench, bench.project(CANONICAL), 12, "")

    def opened(bench: Bench) -> Run:
        project = bench.project(CANONICAL)
        given = {"file_path": str(project.root / "docs" / "a.md")}
        return bench.hook(project, "PostToolUse", tool_name="Read", tool_input=given)

    nowhere = "nothing to do: no workflow anywhere"
    yield Case(
        f"{nowhere}, PreCompact",
        _IDLE,
        lambda b: b.hook(b.empty(), "PreCompact", trigger="auto"),
    )
    yield Case(
        f"{nowhere}, SessionStart",
        _IDLE,
        lambda b: b.hook(b.empty(), "SessionStart", "watchPaths", source="startup"),
    )
    yield Case(f"{nowhere}, PreToolUse", _IDLE, lambda b: _edits(b, b.empty()))
    yield Case("nothing to do: HOLDFAST_DISABLE=1", _IDLE, switched_off_for_now)
    yield Case("nothing to do: disabled in the user's settings", _IDLE, switched_off_by_user)
    yield Case("nothing to do: disabled in the project's settings", _IDLE, switched_off_in_project)
    gate = partial(_gate, CANONICAL, 1)
    yield Case("nothing to do: gate idle, PreToolUse(Edit)", _IDLE, gate)
    yield Case("nothing to do: gate idle, PostToolUse(Read)", _IDLE, opened)
    yield Case("nothing to do: a part of the reading that is not needed", _IDLE, part)


def _edits(bench: Bench, project: Project) -> Run:
    given = {"file_path": str(project.root / "module.py")}
    return bench.hook(project, "PreToolUse", tool_name="Edit", tool_input=given)


def _gate(kind: Kind, count: int, bench: Bench) -> Run:
    return _edits(bench, bench.project(kind, count))


def _compacting(kind: Kind, count: int, bench: Bench) -> Run:
    told = "Keep word for word"
    return bench.hook(bench.project(kind, count), "PreCompact", told, trigger="auto")


def _saving(kind: Kind, count: int, bench: Bench) -> Run:
    project = bench.project(kind, count, "moving")
    run = bench.hook(project, "PreCompact", trigger="auto")
    numbers = itertools.count(2)

    def edit() -> str:
        number = next(numbers)
        kind.edit(project, number)
        return kind.told.format(number)

    run.edit = edit
    return run


def _starting(kind: Kind, count: int, bench: Bench) -> Run:
    project = bench.project(kind, count, "started")
    told = "# Workflow restored after the compaction"
    run = bench.hook(project, "SessionStart", told, source="compact")
    if kind is SKILL:
        # A compaction is written into its history, and only the same start again writes nothing.
        run.settle = lambda: project.fire("SessionStart", source="compact")
    return run


def _starting_after_edit(bench: Bench) -> Run:
    """The markdown is another, the workflow is not."""
    project = bench.project(CANONICAL, use="edited")
    run = bench.hook(project, "SessionStart", source="compact")
    numbers = itertools.count(1)

    def edit() -> str:
        projects.declare(project, 1, below=f"\n## Notes\nNumber {next(numbers)}")
        return "# Workflow restored after the compaction"

    run.edit = edit
    return run


def _reading(bench: Bench, use: str = "reading") -> Project:
    """With as much to read as goes into twelve parts."""

    def prepare(project: Project) -> None:
        names = [f"docs/long-{number}.md" for number in range(4)]
        for name in names:
            project.write(name, "A line of the reading, long enough to be one.\n" * 590)
        projects.declare(project, 1, reading=names)

    return bench.special(use, prepare)


def _with_parts(bench: Bench, use: str = "reading") -> Run:
    project = _reading(bench, use)
    run = bench.hook(project, "SessionStart", "in 12 parts", source="compact")
    run.commands += [[*run.commands[0], "--part", str(number)] for number in range(1, 13)]
    run.all_tell = True
    return run


def _one_part(bench: Bench) -> Run:
    return _alone(bench, _reading(bench), 1, "reading 1 of 12")


def _alone(bench: Bench, project: Project, part: int, told: str) -> Run:
    """One hook for a part, once the main hook of that start has laid ready what it sends."""
    run = bench.hook(project, "SessionStart", told, source="compact")
    run.commands[0] += ["--part", str(part)]
    run.settle = lambda: project.fire("SessionStart", source="compact")
    return run


def session() -> Iterator[Case]:
    """A session that works: between two compactions come 12 edits, a test run and tasks."""

    def worked(bench: Bench, use: str) -> Project:
        return bench.project(CANONICAL, use=use)

    def compacted(bench: Bench) -> Run:
        project = worked(bench, "worked")
        run = bench.hook(project, "PreCompact", "Keep word for word", trigger="auto")
        run.settle = project.work
        return run

    def restored(bench: Bench) -> Run:
        run = _with_parts(bench, "reading-worked")
        project = run.project

        def work() -> str:
            project.work()
            project.begin_compaction()
            return "in 12 parts"

        run.edit = work
        return run

    def ended(bench: Bench) -> Run:
        project = worked(bench, "ended")
        run = bench.hook(project, "PostCompact", compact_summary="It goes on.", trigger="auto")
        run.settle = project.work
        return run

    def called(tool: str, event: str, bench: Bench) -> Run:
        project = worked(bench, f"called-{tool}")
        given = {"file_path": str(project.root / "module.py")}
        run = bench.hook(project, event, tool_name=tool, tool_input=given)
        run.settle = project.work
        return run

    name = "working session"
    yield Case(f"{name}: PreCompact", _WORKED, compacted, every=_SELDOM)
    beside = f"{name}: PostCompact, beside the conversation"
    yield Case(beside, _FREE, ended, every=_SELDOM)
    yield Case(f"{name}: SessionStart and 12 parts with text", _PARTS, restored, every=_SELDOM)
    for tool, event in (("Edit", "PreToolUse"), ("Read", "PostToolUse")):
        run = partial(called, tool, event)
        yield Case(f"{name}: {event}({tool})", _IDLE, run, every=_SELDOM)


def _naive(bench: Bench) -> Run:
    return bench.python(str(FLOORS / "naive.py"))


def _status(kind: Kind, count: int, bench: Bench) -> Run:
    project = bench.project(kind, count)
    return Run(project, [[bench.holdfast, "statusline"]], project.status(), "context 42%")


def _noted(bench: Bench) -> Run:
    project = bench.project(CANONICAL, use="noted")
    given = {"file_path": str(project.root / "module.py")}
    return bench.hook(project, "PostToolUse", tool_name="Edit", tool_input=given)


def _watched(bench: Bench) -> Run:
    project = bench.project(CANONICAL, use="watched")
    path = str(project.root / "CLAUDE.local.md")
    run = bench.hook(project, "FileChanged", file_path=path, event="change")
    numbers = itertools.count(2)

    def edit() -> str:
        projects.declare(project, next(numbers))
        return ""

    run.edit = edit
    return run


def working() -> Iterator[Case]:
    """Where there is a workflow."""
    unchanged = partial(_compacting, CANONICAL, 1)
    yield Case("PreCompact, nothing changed", _UNCHANGED, unchanged)
    for kind in projects.EVERY:
        name = f"PreCompact with a change to save, {kind.name}, against the naive hook"
        changed = partial(_saving, kind, 1)
        yield Case(name, _AS_NAIVE, changed, _naive)
    start, started = "SessionStart(compact)", partial(_starting, CANONICAL, 1)
    yield Case(f"{start}, nothing changed", _RESTORED, started)
    yield Case(f"{start}, first run after an edit", _FREE, _starting_after_edit)
    yield Case(f"{start} and 12 parts with text, all at once", _PARTS, _with_parts)
    yield Case("a part of the reading that is sent", _FREE, _one_part)
    yield Case("statusline", _STATUSLINE, partial(_status, CANONICAL, 1))
    yield Case("PostToolUse(Edit), noted", _FREE, _noted)
    beside = "FileChanged with a change to save, beside the conversation"
    yield Case(beside, _FREE, _watched)


class Asking(NamedTuple):
    """How an agent asks, where that differs from what `Project.payload` has."""

    agent: str
    saves: str = "PreCompact"  # what it calls the event before a compaction
    prompts: str = ""  # and the one of a prompt, where it is told with that
    fields: Mapping[str, str] = {}  # beside the common ones


AGENTS = (
    Asking("codex", fields={"turn_id": "t1", "model": "m"}),
    Asking("qwen", fields={"timestamp": "2026-11-18T06:23:04.660Z", "prompt_id": "p1"}),
    Asking("copilot", prompts="UserPromptSubmit", fields={"timestamp": "2026-11-18T06:23:04.660Z"}),
    Asking("gemini", saves="PreCompress", prompts="BeforeAgent"),
    Asking("opencode"),
)


def agents() -> Iterator[Case]:
    """The same answers for others than Claude Code, who say so."""
    for asking in AGENTS:
        option = f"--agent {asking.agent}"
        idle = partial(_asked, asking, asking.saves, "empty")
        yield Case(f"{option}: nothing to do, {asking.saves}", _IDLE, idle)
        unchanged = partial(_asked, asking, asking.saves, asking.agent)
        yield Case(f"{option}: {asking.saves}, nothing changed", _UNCHANGED, unchanged)
        if asking.prompts:
            # In a project of its own: the first prompt after a PreCompact waits for what comes of it.
            due = partial(_asked, asking, asking.prompts, f"{asking.agent}-prompted")
            # The end of the transcript is read as well.
            yield Case(f"{option}: {asking.prompts} with nothing due", _UNCHANGED, due)
        else:
            start = partial(_asked, asking, "SessionStart", f"{asking.agent}-started")
            yield Case(f"{option}: SessionStart(compact), nothing changed", _RESTORED, start)
    recognised = partial(_asked, AGENTS[0]._replace(agent=""), "PreCompact", "recognised")
    yield Case("agent told from what it sends: PreCompact, nothing changed", _UNCHANGED, recognised)


_NOTED = ("qwen", "opencode")  # that have a way to the summariser


def _asked(asking: Asking, event: str, use: str, bench: Bench) -> Run:
    """The event, asked for as often as it takes until nothing changes any more."""
    project = bench.empty() if use == "empty" else bench.project(CANONICAL, use=use)
    told = ""
    if event == "SessionStart":
        told = "# Workflow restored after the compaction"
    elif event == asking.saves and asking.agent in _NOTED and use != "empty":
        told = "Keep word for word"
    transcript = project.home / "transcript.jsonl"
    if asking.prompts and not transcript.exists():
        transcript.write_text('{"type": "user", "content": "go on"}\n' * 5000, encoding="utf-8")
    fields: dict[str, str] = {"transcript_path": str(transcript), **asking.fields}
    fields |= {"source": "compact"} if event == "SessionStart" else {"trigger": "auto"}
    run = bench.hook(project, event, told, **fields)
    run.commands = [[bench.holdfast, "hook", *(["--agent", asking.agent] if asking.agent else [])]]
    saves = project.payload(asking.saves, **{**fields, "trigger": "auto"})
    for sent in (saves, run.payload, saves, run.payload):
        project.ask(run.commands[0], sent)
    return run


def commands() -> Iterator[Case]:
    """What agents and people wait for; and a list of many, since an index is kept for it."""
    yield Case("command: status", _FREE, _standing, every=_SELDOM)
    yield Case("command: --version", _FREE, _version, every=_SELDOM)
    for count in (100, 10_000):
        name = f"pipeline list, those that failed of {count:,}"
        yield Case(name, _FREE, partial(_listing, count), every=_SELDOM)


def _standing(bench: Bench) -> Run:
    project = bench.project(CANONICAL, use="status")
    return Run(project, [[bench.holdfast, "status"]], b"", "phase")


def _version(bench: Bench) -> Run:
    return Run(bench.empty(), [[bench.holdfast, "--version"]], b"", "holdfast")


def _listing(count: int, bench: Bench) -> Run:
    project = bench.pipelines(count)
    command = [bench.holdfast, "pipeline", "list", "--status", "failed", "--json"]
    return Run(project, [command], b"", '"failed"')


def growing() -> Iterator[Case]:
    """A thousand workflows beside one; the session has the same one in both."""
    named = {
        "gate idle": _gate,
        "PreCompact, nothing changed": _compacting,
        "PreCompact with a change to save": _saving,
        "SessionStart(compact), nothing changed": _starting,
        "statusline": _status,
    }
    for name, make in named.items():
        for kind in projects.MANY:
            yield Case(
                f"{name}: {MANY:,} {kind.name} workflows against 1",
                _FREE_GROWTH if make is _saving else _GROWTH,
                partial(make, kind, MANY),
                partial(make, kind, 1),
                every=_SELDOM,
            )


def memory() -> Iterator[Peak]:
    """With as much markdown as is read at all."""
    name = "memory: PreCompact, nothing changed"
    yield Peak(name, _MEMORY, partial(_compacting, CANONICAL, 1))
    for where, write in (("CLAUDE.local.md", _large_local), ("PLAN.md", _large_plan)):
        for event in ("PreCompact", "SessionStart"):
            name = f"memory: {event} after an edit, a {where} of 5 MB"
            yield Peak(name, _MEMORY, partial(_large, f"{event}-{where}", event, write))


def _large(name: str, event: str, write: Callable[[Project, int], None], bench: Bench) -> Run:
    project = bench.special(name, lambda project: write(project, 1))
    fields = {"source": "compact"} if event == "SessionStart" else {"trigger": "auto"}
    run = bench.hook(project, event, **fields)
    numbers = itertools.count(2)

    def edit() -> str:
        number = next(numbers)
        write(project, number)
        return f"Step {number}"

    run.edit = edit
    return run


def _large_local(project: Project, number: int) -> None:
    projects.declare(project, number, below="\n## Notes\n" + _prose())


def _large_plan(project: Project, number: int) -> None:
    """Its front matter alone is YAML."""
    begun = "---\ntitle: Large\n---\n# Large\n\n**Status**: 🔄 In Progress\n\n"
    phase = f"## Phase 1: Step {number}\n- [ ] Begin\n\n## Notes\n"
    (project.root / "CLAUDE.local.md").unlink(missing_ok=True)
    project.write("PLAN.md", begun + phase + _prose())


def _prose() -> str:
    line = "What was decided, and why, in a line of ordinary length.\n"
    return line * (_LARGEST // len(line))
