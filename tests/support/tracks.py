"""Work that many sessions do at once, with what has to come of it, counted in memory.

A track is one workflow of one format: a row of commands, what the files must say after so many of
them, and what they do say. Tracks share a project, a ledger, an index and a log, and an
orchestrator's run is one file for all of them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from holdfast.testing import Project

_PHASES = (
    "01-requirements",
    "02-architecture",
    "03-implementation",
    "04-testing",
    "05-documentation",
)
_MANY = 400  # phases; more than a session comes to


class Track:
    """One row of commands, of which so many were *made*."""

    def __init__(self, number: int) -> None:
        self.made, self.number = 0, number

    def command(self) -> Sequence[str]:
        """The next one."""
        raise NotImplementedError

    def told(self, answer: str) -> None:
        """What the last command said."""

    def wanted(self) -> object:
        raise NotImplementedError

    def found(self, project: Project) -> object:
        raise NotImplementedError


def _json(project: Project, path: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((project.root / path).read_bytes())
    return data


class Canonical(Track):
    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.name = f"Work {number}"

    def command(self) -> Sequence[str]:
        if self.made == 0:
            return ["start", self.name, "--phases", ",".join(f"P{each}" for each in range(_MANY))]
        step = (
            ["remind", f"remember {self.made}"],
            ["phase", "next"],
            ["context", f"at={self.made}"],
        )[self.made % 3]
        return [*step, "--workflow", self.name]

    def wanted(self) -> object:
        made = range(1, self.made)
        at = max((each for each in made if each % 3 == 2), default=None)
        reminders = [f"remember {each}" for each in made if each % 3 == 0]
        return 1 + sum(each % 3 == 1 for each in made), reminders, at

    def found(self, project: Project) -> object:
        (state,) = (each for each in project.states() if each["workflow"] == self.name)
        return state["phase"]["current"], state["key_reminders"], state["context"].get("at")


class Shared(Track):
    """A canonical workflow that every session reminds of something."""

    NAME = "Everybody's"

    def command(self) -> Sequence[str]:
        return ["remind", self._reminder(self.made), "--workflow", self.NAME]

    def _reminder(self, made: int) -> str:
        return f"{self.number} says {made}"

    def wanted(self) -> object:
        return [self._reminder(each) for each in range(self.made)]

    def found(self, project: Project) -> object:
        (state,) = (each for each in project.states() if each["workflow"] == self.NAME)
        return [each for each in state["key_reminders"] if each.startswith(f"{self.number} says ")]


class Markdown:
    """Somebody edits CLAUDE.local.md again and again."""

    NAME = "Written down"

    def __init__(self) -> None:
        self.made = 0

    def edit(self, project: Project) -> None:
        self.made += 1
        text = f"Workflow: {self.NAME}\nPhase: {self.wanted()}/{_MANY} - P\n"
        aside = project.write("aside.md", text)
        aside.replace(project.root / "CLAUDE.local.md")  # as an editor does

    def wanted(self) -> int:
        return self.made % _MANY + 1

    def found(self, project: Project) -> int:
        (state,) = (each for each in project.states() if each["workflow"] == self.NAME)
        current: int = state["phase"]["current"]
        return current


class Skill(Track):
    """Run after run of a skill, each of three phases, to its end."""

    def _run(self, made: int) -> tuple[str, int]:
        run, step = divmod(made, 5)
        return f"Skill {self.number} run {run}", step

    def command(self) -> Sequence[str]:
        name, step = self._run(self.made)
        if step == 0:
            return ["skill", "start", "review", name, "--phases", "a,b,c"]
        if step == 4:
            return ["skill", "complete", name]
        return ["skill", "phase", "complete", "--workflow", name]

    def wanted(self) -> object:
        """How many runs are completed, and where the one that is not stands."""
        runs, step = divmod(self.made, 5)
        return runs, ["abcc"[step - 1]] if step else []

    def found(self, project: Project) -> object:
        folder = project.root / ".claude/workflow-state"
        own = f"Skill {self.number} run "
        states = {
            place: [
                data
                for path in sorted((folder / place).glob("*.json"))
                if own in (text := path.read_text("utf-8")) and (data := json.loads(text))
            ]
            for place in ("active", "completed")
        }
        phases = [each["state_machine"]["current_phase"] for each in states["active"]]
        return len(states["completed"]), phases


class Gated(Track):
    """A feature through all of its phases."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self._slug = f"feature-{number}"

    def command(self) -> Sequence[str]:
        if self.made == 0:
            return ["gate", "start", self._slug, "--title", self._slug]
        steps = (["submit"], ["approve-internal", "good", "--pr", "#7"], ["approve"])
        where = ["--workflow", self._slug]
        if self.made == 16:
            return ["gate", "complete", *where]
        if self.made > 16:
            return ["gate", "validate", *where]
        return ["gate", *steps[(self.made - 1) % 3], *where]

    def wanted(self) -> object:
        approved = min((self.made - 1) // 3, len(_PHASES))
        return approved if self.made else None

    def found(self, project: Project) -> object:
        path = f"workflow/{self._slug}/workflow-state.json"
        if not (project.root / path).exists():
            return None
        phases = _json(project, path)["phases"]
        return sum(phases[name]["status"] == "approved" for name in _PHASES)


class Orchestrator(Track):
    """Tasks of its own in the run of all, and what was learned in them."""

    TASKS = 12

    @classmethod
    def document(cls, sessions: int) -> str:
        tasks = (
            f"- [ ] 1.{cls._numbered(number, each)} Work\n"
            for number in range(sessions)
            for each in range(cls.TASKS)
        )
        return "# Load\n## Phase 1: All\n" + "".join(tasks)

    @classmethod
    def _numbered(cls, number: int, task: int) -> int:
        return (number + 1) * 100 + task

    def _task(self, made: int) -> str:
        return f"1.{self._numbered(self.number, made // 3)}"

    def command(self) -> Sequence[str]:
        task = self._task(self.made)
        if self.made // 3 >= self.TASKS or self.made % 3 == 2:
            return ["orchestrate", "learn", self._lesson(self.made), "--type", "insight"]
        step = "task-start" if self.made % 3 == 0 else "task-done"
        return ["orchestrate", step, task, *(["--cost", "$0.01"] if step == "task-done" else [])]

    def _lesson(self, made: int) -> str:
        return f"{self.number} learned {made}"

    def wanted(self) -> object:
        tasks = range(self.TASKS * 3)
        made = range(self.made)
        done = sorted(self._task(each) for each in made if each in tasks and each % 3 == 1)
        learned = [self._lesson(each) for each in made if each not in tasks or each % 3 == 2]
        return done, learned, learned

    def found(self, project: Project) -> object:
        state = _json(project, ".claude/agent-state.json")
        log = project.root / ".claude/learnings.jsonl"
        logged = (
            [json.loads(each) for each in log.read_bytes().splitlines()] if log.exists() else []
        )
        own = {self._task(3 * each) for each in range(self.TASKS)}
        done = (each["task"] for each in state["completed_tasks"])
        return (
            sorted(each for each in done if each in own),
            self._own(state["learnings"]),
            self._own(logged),
        )

    def _own(self, learnings: Sequence[dict[str, Any]]) -> list[str]:
        lessons = (each["lesson"] for each in learnings)
        return [each for each in lessons if each.startswith(f"{self.number} learned ")]


class Pipeline(Track):
    """A workflow of many steps, one after the other."""

    STEPS = 90
    DEFINITION = 'name = "long"\n' + "".join(
        f'[[steps]]\nstep = {each}\nname = "Step {each}"\n' for each in range(1, STEPS + 1)
    )

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self._id = ""

    def command(self) -> Sequence[str]:
        if self.made == 0:
            return ["pipeline", "start", "long", "--context", f"of={self.number}", "--json"]
        number, status = self.made // 2 + 1, ("in_progress", "completed")[self.made % 2]
        if number > self.STEPS:
            return ["pipeline", "metrics", "--workflow", self._id]
        return ["pipeline", "update", str(number), "--status", status, "--workflow", self._id]

    def told(self, answer: str) -> None:
        self._id = self._id or json.loads(answer)["workflow_id"]

    def wanted(self) -> object:
        """How many steps are completed, and how many are in progress: the start begins the first."""
        return min(self.made // 2, self.STEPS), self.made % 2 if self.made < 2 * self.STEPS else 0

    def found(self, project: Project) -> object:
        state = _json(project, f"workspace/workflow-state/{self._id}.json")
        statuses = [each["status"] for each in state["long"]["steps"]]
        return statuses.count("completed"), statuses.count("in_progress")
