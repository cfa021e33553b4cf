"""Start what is registered as the client would, once for each recorded payload, in a throw-away project."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from holdfast import launcher, payloads
from holdfast.checkup.finding import Finding
from holdfast.clients import CLAUDE, Client
from holdfast.plaintext import one_line
from holdfast.project import Surroundings
from holdfast.registration import PATIENCE, Program

_SLOW = 1.0
_WORKFLOW = "Checkup"


class Run(NamedTuple):
    payload: str
    seconds: float
    trouble: str  # empty when it answered as it should


def is_path(name: str) -> bool:
    """Whether *name* says where the program lies, and is not looked for on PATH."""
    return re.search(r"[/\\]", name) is not None


def found_at(program: Program, here: Surroundings) -> str | None:
    """The file that starts *program* wherever the client is started; None when there is none."""
    name = program.command
    if is_path(name):
        return shutil.which(os.path.join(here.cwd, name))
    return launcher.on_path(name, here.search_path, here.virtual_env)


def examine(program: Program, file: str, fix: str, client: Client = CLAUDE) -> Finding:
    """Whether *program*, which *file* starts, answers each payload of *client* as a hook has to."""
    arguments = [*program.first, "hook", *client.said]
    name = " ".join([program.command, *arguments])
    runs = list(_runs([file, *arguments], client))
    failed = [each for each in runs if each.trouble]
    if failed:
        cause = "; ".join(f"{each.payload}: {each.trouble}" for each in failed[:3])
        more = f" and {len(failed) - 3} more" if len(failed) > 3 else ""
        what = f"`{name}` fails on {len(failed)} of {len(runs)} recorded payloads"
        return Finding("command", "wrong", what, cause + more, fix)
    times = sorted(each.seconds * 1000 for each in runs)
    what = f"`{name}` answers {len(runs)} recorded payloads in {times[0]:.0f} to {times[-1]:.0f} ms each"
    if times[-1] < _SLOW * 1000:
        return Finding("command", "good", what)
    cause = "a hook that is waited for should end in a fraction of a second; is the machine busy?"
    return Finding("command", "note", what, cause, client.look)


def _runs(command: Sequence[str], client: Client) -> Iterator[Run]:
    with tempfile.TemporaryDirectory(prefix="holdfast-checkup-") as folder:
        project = Path(folder) / "project"
        (project / "docs").mkdir(parents=True)
        (project / "docs" / "guide.md").write_text("# Guide\n\nLook first.\n", encoding="utf-8")
        (project / "CLAUDE.local.md").write_text(
            f"# Current Workflow State\n\nWorkflow: {_WORKFLOW}\nPhase: 1/2 - Look\n\n@docs/guide.md\n",
            encoding="utf-8",
        )
        environment = _environment(folder, str(project))
        for name in _in_order(client):
            payload = payloads.read(name, str(project), client.name)
            begun = time.perf_counter()
            said, trouble = _answer(command, payload, environment, project)
            spent = time.perf_counter() - begun
            yield Run(name, spent, trouble or _misspoken(name, said, client))


def _in_order(client: Client) -> list[str]:
    """The names of what it gave to hooks, as its events follow each other in a session."""
    events = [row.event for row in client.rows]

    def place(name: str) -> int:
        event = name.partition("-")[0]
        return events.index(event) if event in events else len(events)

    return sorted(payloads.names(client.name), key=place)


def _environment(folder: str, project: str) -> dict[str, str]:
    """This one, but with settings and notes of its own, and as a client sets it."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("HOLDFAST_", "CLAUDE_CODE_", "CLAUDE_PROJECT_DIR"))
    }
    own = {"XDG_STATE_HOME": f"{folder}/state", "XDG_CONFIG_HOME": f"{folder}/config"}
    return {**kept, **own, "CLAUDE_PROJECT_DIR": project}


def _answer(
    command: Sequence[str],
    payload: Mapping[str, object],
    environment: Mapping[str, str],
    cwd: Path,
) -> tuple[str, str]:
    """What it said, and what kept it from saying anything."""
    try:
        done = subprocess.run(
            command,
            input=json.dumps(payload).encode(),
            cwd=cwd,
            env=dict(environment),
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "", f"no answer within {PATIENCE:.0f} s"
    except OSError as error:
        return "", f"it cannot be started: {error.strerror or error}"
    if done.returncode != 0:
        last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        return "", one_line(f"exit code {done.returncode}: {last or 'nothing on stderr'}", 200)
    return done.stdout.decode("utf-8", "replace"), ""


def _misspoken(name: str, said: str, client: Client) -> str:
    """What is wrong with what a hook *said* to the payload called *name*, if anything."""
    if name == "PreCompact" and client.plain_notes:
        # The client gives it to the summariser as it stands.
        return "" if said.startswith("Keep word for word") and _WORKFLOW in said else _other(said)
    restores = name == client.restored_by
    if not said and not restores:
        return ""
    try:
        reply = json.loads(said)
    except ValueError:
        return _other(said)
    return "" if not restores or _WORKFLOW in str(reply) else _other(said)


def _other(said: str) -> str:
    return one_line(f"it said {said!r}" if said else "it said nothing", 200)
