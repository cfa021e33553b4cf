"""The runs that the contract tests ask about. Only probes are registered, nothing of Holdfast."""

from __future__ import annotations

import json
import shlex
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from realclient import client
from realclient.recording import Recording
from realclient.sandbox import PROBE, Sandbox, Seen, context
from realclient.standin import Request, StandIn, Tool, calls, says

EVENTS = (
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "TaskCreated",
    "SubagentStart",
    "SubagentStop",
    "Stop",
    "PreCompact",
    "PostCompact",
    "InstructionsLoaded",
    "FileChanged",
)
BACKGROUND = (
    "PostToolUse",
    "PostToolUseFailure",
    "TaskCreated",
    "SubagentStart",
    "SubagentStop",
    "FileChanged",
)

PARTS = 10
# What a shell would take apart.
ODD_NAME = "two words; \"$HOME\" 'and' * more"
# The newest models are not the ones for which the client compacts early, or offers tasks.
OLDER_MODEL = ("--model", "claude-sonnet-4-5")
COMPACTS_EARLY = {
    "CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000",
    "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "30",
}
FULL, ROOMY = 90_000, 5_000


def part(number: int, characters: int = 9_800) -> str:
    """A text whose loss at either end shows."""
    begin, end = f"[part {number} begins]", f"[part {number} ends]"
    return begin + "x" * (characters - len(begin) - len(end)) + end


def agent(description: str, prompt: str, **more: Any) -> Tool:
    asked = {"description": description, "prompt": prompt, "subagent_type": "general-purpose"}
    return Tool("Agent", {**asked, **more})


def shell(line: str) -> Tool:
    return Tool("Bash", {"command": line, "description": "a line"})


def watched(folder: Path) -> Sandbox:
    """A sandbox with a probe at every event."""
    sandbox = Sandbox(folder)
    for event in EVENTS:
        sandbox.probe(event)
    return sandbox


def conversation(binary: Path, folder: Path) -> Recording:
    """Tools; a compaction that fails and two that do not; the session continued, and forked."""
    sandbox = watched(folder)
    for event in BACKGROUND:
        sandbox.probe(event, "background", **{"async": True})
    sandbox.probe("PreCompact", "summariser", stdout="Keep the phase of the workflow.")
    told = context("SessionStart", "the guidance, see @secret.txt", systemMessage="for the person")
    sandbox.probe("SessionStart", "guidance", stdout=told, matcher="compact")
    for number in range(PARTS):
        said = context("SessionStart", part(number))
        sandbox.probe("SessionStart", f"part-{number}", stdout=said, matcher="compact")
    for size in (10_000, 10_001):
        said = context("SessionStart", part(size, size))
        sandbox.probe("SessionStart", f"size-{size}", stdout=said, matcher="compact")
    for _ in range(2):
        sandbox.probe("SessionStart", "twin", stdout="the same command", matcher="compact")
    resumed = context("SessionStart", "the guidance of a resumed session")
    sandbox.probe("SessionStart", "resumed", stdout=resumed, matcher="resume|fork")
    reminder = context("PreToolUse", "a reminder before reading")
    sandbox.probe("PreToolUse", "reminder", stdout=reminder, matcher="Read")
    refusal = {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": "Read the plan first.",
        }
    }
    sandbox.probe("PreToolUse", "gate", stdout=refusal, matcher="Write")
    sandbox.probe("UserPromptSubmit", ODD_NAME)
    sandbox.probe("NoSuchEvent", "unknown")
    sandbox.write_settings()

    read_me = sandbox.write("read-me.txt", "what the file says")
    sandbox.write("secret.txt", "what only an expanded path would show")
    sandbox.write("CLAUDE.local.md", "@docs/notes.md\n")
    sandbox.write("docs/notes.md", "@more.md\nThe first edition.\n")
    sandbox.write("docs/more.md", "the notes behind the notes\n")

    with StandIn(routes={"do what a subagent does": [says("The subagent is done.")]}) as stand_in:
        with sandbox.client(binary, stand_in) as session:
            session.compact()
            stand_in.queue += [
                calls(Tool("Read", {"file_path": str(read_me)})),
                calls(shell('echo "session $CLAUDE_CODE_SESSION_ID"')),
                calls(shell("echo out; echo bad >&2; exit 3")),
                calls(Tool("Write", {"file_path": str(read_me), "content": "overwritten"})),
                calls(agent("a look", "do what a subagent does", run_in_background=False)),
                calls(shell("mkdir below && cd below")),
            ]
            session.send("use the tools")
            session.send("a second prompt")
            session.compact("Keep the names.")
            session.send("the prompt after the first compaction")
            sandbox.write("docs/notes.md", "The second edition.\n")
            session.send("one more prompt")
            session.compact()
            session.send("the prompt after the second compaction")
            sandbox.wait_for_seen("SubagentStop", "background", times=3)
            session.close()
        identity = session.messages[-1]["session_id"]
        for prompt, args in (
            ("the prompt of the continued session", ["--continue"]),
            ("the prompt of the fork", ["--resume", identity, "--fork-session"]),
        ):
            with sandbox.client(binary, stand_in, *args) as again:
                again.send(prompt)
                again.close()
    notes = {
        "session": identity,
        "project": str(sandbox.project),
        "read-me": read_me.read_text(encoding="utf-8"),
        "stderr": session.stderr,
    }
    return Recording(stand_in.requests, sandbox.seen(), session.messages, notes)


def summariser_hooks(binary: Path, folder: Path) -> Recording:
    """Hooks that say to the summariser what they should not, then one that blocks."""
    sandbox = watched(folder)
    said = context("PreCompact", "context as JSON")
    sandbox.probe("PreCompact", "json", stdout=said)
    sandbox.probe("PreCompact", "empty-json", stdout="{}")
    sandbox.probe("PreCompact", "message", stdout={"systemMessage": "a message as JSON"})
    sandbox.probe("PreCompact", "failing", stdout="")
    sandbox.answer("failing", "what a failing hook printed", "the save failed\n", 1)
    sandbox.write_settings()
    with StandIn() as stand_in, sandbox.client(binary, stand_in) as session:
        session.send("a prompt")
        session.send("a second prompt")
        printed = session.compact()
        session.send("a third prompt")
        sandbox.answer("failing", stderr="never do this\n", status=2)
        blocked = session.compact()
        session.close()
    return Recording(stand_in.requests, sandbox.seen(), printed, {"blocked": blocked})


def watching(binary: Path, folder: Path) -> Recording:
    """Files that change while nobody prompts; then a compaction that gives another list."""
    sandbox = watched(folder)
    sandbox.probe("FileChanged", "background", **{"async": True})
    local, plans = sandbox.project / "CLAUDE.local.md", sandbox.project / "CLAUDE/Plan"
    awake, other, last = (sandbox.write(f"{name}.txt", "0") for name in ("awake", "other", "last"))
    plans.parent.mkdir()

    def watch(*paths: Path) -> dict[str, Any]:
        listed = {"hookEventName": "SessionStart", "watchPaths": [str(path) for path in paths]}
        return {"hookSpecificOutput": listed}

    first = watch(local, plans, awake)
    sandbox.probe("SessionStart", "watch", stdout=first, matcher="startup")
    sandbox.probe("SessionStart", "watch-other", stdout=watch(other, last), matcher="compact")
    sandbox.write_settings()

    def fired(path: Path, event: str) -> bool:
        """Whether that was told of the path, or of something below it, to both probes."""
        return all(
            any(Path(each.payload["file_path"]).is_relative_to(path) for each in told)
            for told in (
                sandbox.seen("FileChanged", "probe", event=event),
                sandbox.seen("FileChanged", "background", event=event),
            )
        )

    def until_fired(*awaited: tuple[Path, str], act: Callable[[int], object]) -> None:
        # Nothing tells when a watch has begun, and under load one change in a hundred is lost. The
        # client waits until a file has been left alone for half a second.
        for attempt in range(1, 20):
            act(attempt)
            try:
                client.wait_until(lambda: all(fired(*each) for each in awaited), "", deadline=2.0)
            except client.TooSlow:
                continue
            return
        raise client.TooSlow(f"never told: {awaited}")

    def make(attempt: int) -> None:
        sandbox.write(plans / f"{attempt:03}-plan/PLAN.md", "# Plan\n")
        local.write_text(str(attempt), encoding="utf-8")

    def edit(attempt: int) -> None:
        plan.write_text(f"# Plan, edit {attempt}\n", encoding="utf-8")
        sandbox.write("aside.md", f"edit {attempt}").replace(local)

    with StandIn() as stand_in, sandbox.client(binary, stand_in) as session:
        session.send("a prompt")
        until_fired((awake, "change"), act=lambda attempt: awake.write_text(str(attempt)))
        until_fired((plans, "add"), (local, "add"), act=make)
        plan = Path(
            next(
                each.payload["file_path"]
                for each in sandbox.seen("FileChanged", "background", event="add")
                if str(plans) in each.payload["file_path"]
            )
        )
        until_fired((plan, "change"), (local, "change"), act=edit)
        until_fired((plan, "unlink"), act=lambda _: plan.unlink(missing_ok=True))
        session.send("a second prompt")
        session.compact()
        until_fired((other, "change"), act=lambda attempt: other.write_text(str(attempt)))
        heard = len(sandbox.seen("FileChanged", "probe", file_path=str(awake)))
        awake.write_text("not watched any more", encoding="utf-8")
        # When what is watched has been told of, what came before it would have been too.
        until_fired((last, "change"), act=lambda attempt: last.write_text(str(attempt)))
        still_heard = len(sandbox.seen("FileChanged", "probe", file_path=str(awake)))
        session.close()
    notes = {"plan": str(plan), "local": str(local), "heard": [heard, still_heard]}
    return Recording(stand_in.requests, sandbox.seen(), session.messages, notes)


def automatic(binary: Path, folder: Path) -> Recording:
    """The window fills up between two prompts, and then in the middle of a tool loop."""
    sandbox = watched(folder)
    sandbox.probe("TaskCreated", "background", **{"async": True})
    sandbox.probe("PreCompact", "summariser", stdout="Keep the phase of the workflow.")
    for number in range(PARTS):
        said = context("SessionStart", part(number))
        sandbox.probe("SessionStart", f"part-{number}", stdout=said, matcher="compact")
    sandbox.write_settings()

    def tokens(request: Request) -> int:
        full = ("fills the window", "[the loop goes on]")
        last = request.last_user_text
        return FULL if any(each in last for each in full) and not request.is_summary else ROOMY

    with (
        StandIn(tokens=tokens) as stand_in,
        sandbox.client(binary, stand_in, *OLDER_MODEL, **COMPACTS_EARLY) as session,
    ):
        session.send("the first prompt fills the window")
        session.send("a prompt before which there is nothing to compact")
        session.send("the third prompt fills the window")
        session.send("the prompt between two turns")
        stand_in.queue += [
            calls(Tool("TaskCreate", {"subject": "the subject", "description": "the description"}))
        ]
        session.send("make a task")
        stand_in.queue += [
            calls(shell("echo '[the loop goes on]'")),
            calls(shell("echo 'the loop ends'")),
        ]
        session.send("the prompt of the loop")
        sandbox.wait_for_seen("TaskCreated", "background")
        session.close()
    return Recording(stand_in.requests, sandbox.seen(), session.messages)


def agents_in_flight(binary: Path, folder: Path) -> Recording:
    """A compaction while two subagents work in the background."""
    sandbox = watched(folder)
    sandbox.write_settings()
    held = threading.Event()
    routes = {
        "the errand of the first": [says("The first is done.", held)],
        "the errand of the second": [says("The second is done.", held)],
    }
    with StandIn(routes=routes) as stand_in, sandbox.client(binary, stand_in) as session:
        session.send("a prompt")
        stand_in.queue += [
            calls(
                agent("first errand", "the errand of the first", run_in_background=True),
                agent("second errand", "the errand of the second", run_in_background=True),
            )
        ]
        session.send("start two agents")
        sandbox.wait_for_seen("SubagentStart", times=2)
        session.compact()
        session.send("the prompt after the compaction")
        held.set()
        sandbox.wait_for_seen("SubagentStop", agent_type="general-purpose", times=2)
        session.close()
    return Recording(stand_in.requests, sandbox.seen(), session.messages)


def subagent_compaction(binary: Path, folder: Path) -> Recording:
    """The window of a subagent fills up, not that of the session."""
    sandbox = watched(folder)
    told = context("SessionStart", "the guidance")
    sandbox.probe("SessionStart", "guidance", stdout=told, matcher="compact")
    sandbox.write_settings()

    def tokens(request: Request) -> int:
        return FULL if "[the errand goes on]" in request.last_user_text else ROOMY

    errand = [
        calls(shell("echo one")),
        calls(shell("echo '[the errand goes on]'")),
        calls(shell("echo three")),
    ]
    with (
        StandIn(tokens=tokens, routes={"the errand of the only one": errand}) as stand_in,
        sandbox.client(binary, stand_in, *OLDER_MODEL, **COMPACTS_EARLY) as session,
    ):
        session.send("a prompt")
        stand_in.queue += [
            calls(agent("errand", "the errand of the only one", run_in_background=False))
        ]
        session.send("start an agent")
        session.close()
    return Recording(stand_in.requests, sandbox.seen(), session.messages)


def used(status: Seen) -> int | None:
    """How full the client tells its status line that the context is, in per cent."""
    per_cent: int | None = status.payload["context_window"]["used_percentage"]
    return per_cent


def interactive(binary: Path, folder: Path) -> Recording:
    """What a person sees of a compaction, in a terminal."""
    sandbox = watched(folder)
    sandbox.probe("PreCompact", "summariser", stdout="Keep the phase of the workflow.")
    told = context("SessionStart", "the guidance", systemMessage="Restored: the workflow.")
    sandbox.probe("SessionStart", "guidance", stdout=told, matcher="compact")
    sandbox.probe("PreCompact", "failing", stdout="")
    sandbox.answer("failing", "", "the save failed\n", 1)
    line = sandbox.probe_hook("status", "\x1b[31mthe status\x1b[0m in a line\n")
    sandbox.status_line(shlex.join([line["command"], *line["args"]]))
    for number in range(PARTS):
        said = context("SessionStart", part(number))
        sandbox.probe("SessionStart", f"part-{number}", stdout=said, matcher="compact")
    sandbox.write_settings()
    with StandIn() as stand_in, sandbox.terminal(binary, stand_in) as terminal:
        sandbox.wait_for_seen("SessionStart", source="startup")
        terminal.wait_for("❯")
        for times, prompt in enumerate(("a prompt", "a second prompt"), start=1):
            terminal.type(prompt)
            sandbox.wait_for_seen("Stop", times=times)
        terminal.type("/compact")
        sandbox.wait_for_seen("PostCompact")
        terminal.wait_for("PreCompact [")
        terminal.type("the prompt after the compaction")
        sandbox.wait_for_seen("Stop", times=3)
        terminal.wait_for("the status in a line")
        client.wait_until(
            lambda: any(map(used, sandbox.seen("", "status"))), "how full the context is"
        )
        screen = terminal.screen
    return Recording(stand_in.requests, sandbox.seen(), [screen])


def plugin(binary: Path, folder: Path) -> Recording:
    """Probes as a plugin: checked, loaded for one run, installed from a folder."""
    sandbox = Sandbox(folder)
    market = folder / "the market"
    root = market / "thing"
    twice = sandbox.probe_hook("twice")
    parts = [
        sandbox.probe_hook(f"part-{number}", context("SessionStart", part(number)))
        for number in range(PARTS + 2)
    ]
    script = sandbox.write(root / "probe.py", PROBE.read_text(encoding="utf-8"))
    rooted = sandbox.probe_hook("rooted", script="${CLAUDE_PLUGIN_ROOT}/" + script.name)
    background = sandbox.probe_hook("background", **{"async": True})
    hooks = {
        "SessionStart": [{"hooks": [twice, rooted, *parts]}],
        "PostToolUse": [{"hooks": [background]}],
    }
    about = {"name": "thing", "version": "0.1.0", "description": "d", "author": {"name": "a"}}
    offer = {"name": "thing", "source": "./thing", "description": "d"}
    offers = {"name": "market", "owner": {"name": "a"}, "description": "d", "plugins": [offer]}
    for file, content in (
        (root / ".claude-plugin/plugin.json", about),
        (root / "hooks/hooks.json", {"hooks": hooks}),
        (market / ".claude-plugin/marketplace.json", offers),
    ):
        sandbox.write(file, json.dumps(content))
    line = '#!/bin/sh\necho "the tool knows [$CLAUDE_PLUGIN_ROOT]"\n'
    sandbox.write(root / "bin/thing-tool", line).chmod(0o755)
    # The very same command stands in the settings too.
    sandbox.register("SessionStart", twice)
    sandbox.write_settings()

    with StandIn() as stand_in:

        def run(*args: str) -> str:
            done = client.run(binary, sandbox.project, sandbox.env(stand_in), *args)
            assert done.returncode == 0, done.stdout + done.stderr
            return done.stdout

        validated = run("plugin", "validate", str(root))
        with sandbox.client(binary, stand_in, "--plugin-dir", str(root)) as session:
            stand_in.queue += [calls(shell("thing-tool"))]
            session.send("the prompt with a plugin for one run")
            sandbox.wait_for_seen("PostToolUse", "background")
            session.close()
        loaded = len(sandbox.seen())
        run("plugin", "marketplace", "add", str(market))
        run("plugin", "install", "thing@market")
        sandbox.write_settings({})
        with sandbox.client(binary, stand_in) as session:
            session.send("the prompt with an installed plugin")
            session.close()
    notes = {
        "root": str(root),
        "home": str(sandbox.home),
        "validated": validated,
        "loaded": loaded,
        "elsewhere": stand_in.elsewhere,
    }
    return Recording(stand_in.requests, sandbox.seen(), session.messages, notes)
