"""The plugin for opencode: what goes into a request and what is noted, and that nothing ever stops opencode."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridged import COMPACTING, TRANSFORM, Answer, Host, Session, change
from holdfast.agents import clients

pytestmark = pytest.mark.needs("node", "git")

HOLDFAST = str(Path(sys.executable).parent / "holdfast")
SALT = "Never forget the salt"
GUIDE = "".join(f"guide, line {line}: words that only this file has\n" for line in range(300))
RESTORED = "# Workflow restored after the compaction: The long way"
RESUMED = "# Workflow continued in the resumed session: The long way"
NAMED = 'The workflow "The long way" is kept in this project'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with nothing in it, for where Holdfast itself is not asked."""
    folder = tmp_path / "the folder"
    folder.mkdir()
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project in the middle of a workflow, with a file that has to be read."""
    folder = tmp_path / "the project"
    (folder / "docs").mkdir(parents=True)
    (folder / "docs/guide.md").write_text(GUIDE, encoding="utf-8")
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    phases = ["--type", "implementation", "--phases", "Look,Build,Check"]
    holdfast(
        folder,
        "start",
        "The long way",
        *phases,
        "--read",
        "@docs/guide.md",
        "--remind",
        SALT,
    )
    return folder


def holdfast(folder: Path, *arguments: str, session: str = "") -> str:
    done = subprocess.run(
        [HOLDFAST, *arguments],
        cwd=folder,
        env={**os.environ, **({"CLAUDE_CODE_SESSION_ID": session} if session else {})},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def plugin(tmp_path: Path) -> Callable[..., Path]:
    """Write the plugin down, as it starts that program."""

    def written(*program: str, name: str = "holdfast.js", patience: int | None = None) -> Path:
        text = clients.opencode_plugin(program or [HOLDFAST])
        if patience is not None:
            text = change(text, "const PATIENCE = 10_000", f"const PATIENCE = {patience}")
        file = tmp_path / "plugins" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
        # Node has to be told what kind of JavaScript it is; opencode's own runtime sees it.
        (file.parent / "package.json").write_text('{"type": "module"}', encoding="utf-8")
        return file

    return written


@pytest.fixture
def host(tmp_path: Path, plugin: Callable[..., Path]) -> Iterator[Host]:
    with Host(tmp_path, plugin()) as running:
        yield running


def told(answer: Answer) -> list[str]:
    """What a request tells of the workflow, text by text."""
    assert answer.error is None
    return [text for _, text in answer.texts if "The long way" in text or "[holdfast" in text]


# Which requests tell what.


def test_a_new_session_is_told_in_its_first_request(host: Host, project: Path) -> None:
    """And in each one after it, word for word, before the same prompt: the text is not stored."""
    session = Session(project).user("First question")
    host.event("session.created", info=session.info)
    first = host.request(session)
    ((role, text), (_, prompt)) = first.texts
    assert (role, prompt) == ("user", "First question")
    assert text.startswith(NAMED)
    session.assistant("Noted.").user("Second question")
    second = host.request(session)
    assert second.texts[:2] == first.texts
    assert len(told(second)) == 1


def test_after_a_compaction_all_is_told_once_in_each_request(host: Host, project: Path) -> None:
    """With the text of what is to be read, before the prompt that comes first."""
    session = Session(project).user("First question")
    host.request(session)
    session.assistant("Noted.").compacting()
    note = host.compacts(session)
    assert '"The long way" is in phase 1 of 3' in note
    assert SALT in note
    session.summary("A summary that keeps nothing.")
    session.user("Second question")
    answer = host.request(session)
    (text,) = told(answer)
    assert text.startswith(RESTORED)
    assert GUIDE.strip() in text
    assert [said for _, said in answer.texts[-2:]] == [text, "Second question"]
    assert told(host.request(session.assistant("Noted.").user("Third question"))) == [text]
    assert [each["message"] for each in host.shown] == [
        "The long way 1/3",
        "✅ Workflow restored: The long way, Phase 1/3 (Look)",
    ]


def test_what_the_summary_lost_is_known_with_the_guidance(host: Host, project: Path) -> None:
    """It is checked before."""
    session = Session(project).user("First question")
    host.request(session)
    session.assistant("Noted.").compacting(auto=True).summary("It kept nothing.")
    (text,) = told(host.request(session.user("Continue")))
    assert "## Key reminders that the summary did not keep\n- Never forget the salt" in text


def test_a_second_compaction_is_told_anew(host: Host, project: Path) -> None:
    """As the workflow stands then."""
    session = Session(project).user("First question")
    host.request(session)
    host.request(session.assistant("Noted.").compacting().summary("One.").user("Second"))
    holdfast(project, "phase", "next")
    (text,) = told(host.request(session.assistant("Noted.").compacting().summary("Two.").user("3")))
    assert "is in phase 2 of 3: Build" in text


def test_the_summariser_is_not_told_twice(host: Host, project: Path) -> None:
    """Its request is made of the messages, too; it has its own note."""
    session = Session(project).user("First question")
    (text,) = told(host.request(session))
    session.assistant("Noted.").compacting()
    host.compacts(session)
    summariser = host.call(TRANSFORM, {}, {"messages": session.summarised()})
    assert told(summariser) == []
    # The compaction failed; the conversation goes on as it was.
    session.messages.pop()
    assert told(host.request(session.user("Second question"))) == [text]


def test_a_second_summariser_is_not_told_twice(host: Host, project: Path) -> None:
    """Where the session was compacted before, its messages show whose request it is."""
    session = Session(project).user("First question").assistant("Noted.").compacting()
    host.request(session.summary("One.").user("Second question"))
    session.assistant("Noted.").compacting()
    host.compacts(session)
    assert told(host.call(TRANSFORM, {}, {"messages": session.summarised()})) == []
    session.summary("Two.").user("Third question")
    assert told(host.request(session))[0].startswith(RESTORED)


def test_a_summary_of_nothing_new_leaves_the_guidance_alone(host: Host, project: Path) -> None:
    """Where the summariser has no message to see, the next request is the conversation's."""
    session = Session(project).user("First question").assistant("Noted.").compacting()
    host.compacts(session)
    assert host.call(TRANSFORM, {}, {"messages": []}).texts == []
    session.summary("S.").user("Second question")
    assert told(host.request(session))[0].startswith(RESTORED)


def test_opencodes_own_messages_stay_as_they_were(host: Host, project: Path) -> None:
    """The title is made from the same objects, at the same time."""
    answer = host.request(Session(project).user("First question"))
    assert len(told(answer)) == 1
    assert answer.untouched


def test_a_prompt_that_was_taken_back_takes_nothing_with_it(host: Host, project: Path) -> None:
    """What was told before it is told before the newest one then."""
    session = Session(project).user("First question")
    (text,) = told(host.request(session))
    del session.user("Another first question").messages[0]
    answer = host.request(session)
    assert [said for _, said in answer.texts] == [text, "Another first question"]
    # There it stays.
    answer = host.request(session.assistant("Noted.").user("Second question"))
    assert [said for _, said in answer.texts][:2] == [text, "Another first question"]


# Sessions that this process of opencode has not begun.


def test_a_session_goes_on_after_a_restart(project: Path, plugin: Callable[..., Path]) -> None:
    """What was told before is stored nowhere; so all of it is told again."""
    session = Session(project).user("First question").assistant("Noted.").user("Second question")
    with Host(project, plugin()) as host:
        answer = host.request(session)
    (text,) = told(answer)
    assert text.startswith(RESUMED)
    assert GUIDE.strip() in text
    assert [said for _, said in answer.texts[-2:]] == [text, "Second question"]


def test_a_restart_right_after_a_compaction(project: Path, plugin: Callable[..., Path]) -> None:
    """Nobody was told yet: it is the start after the compaction."""
    session = Session(project).user("First question").assistant("Noted.").compacting().summary("S.")
    with Host(project, plugin()) as host:
        (text,) = told(host.request(session.user("Second question")))
    assert text.startswith(RESTORED)


def test_a_restart_some_time_after_a_compaction(project: Path, plugin: Callable[..., Path]) -> None:
    """The compaction is not counted again."""
    session = Session(project).user("First question").assistant("Noted.").compacting().summary("S.")
    session.user("Second question").assistant("Noted.").user("Third question")
    with Host(project, plugin()) as host:
        (text,) = told(host.request(session))
    assert text.startswith(RESUMED)


def test_a_fork_is_told_apart(host: Host, project: Path) -> None:
    """Its messages are older than itself."""
    fork = Session(project).user("First question").assistant("Noted.").user("Second question")
    fork.born += 2500
    host.event("session.created", info=fork.info)
    (text,) = told(host.request(fork))
    assert text.startswith("# Workflow carried over into the forked session")


# Subagents.


def test_a_subagent_is_told_nothing(host: Host, project: Path) -> None:
    """Nor is its summariser. Its caller is, and its shell belongs to its caller."""
    main = Session(project).user("First question")
    child = Session(project, parent=main.id).user("Look into The long way")
    grandchild = Session(project, parent=child.id).user("Look into it")
    host.know(main, child, grandchild)
    assert host.request(child).texts == [("user", "Look into The long way")]
    assert host.compacts(child.assistant("Noted.").compacting()) == ""
    answer = host.call("shell.env", {"cwd": str(project), "sessionID": grandchild.id}, {"env": {}})
    assert answer.output["env"] == {"CLAUDE_CODE_SESSION_ID": main.id}
    assert len(told(host.request(main))) == 1


def test_a_subagents_requests_start_nothing(
    folder: Path, tmp_path: Path, plugin: Callable[..., Path]
) -> None:
    """There may be many of them."""
    started = tmp_path / "started"
    noting = script(tmp_path / "noting", f"open({str(started)!r}, 'w').close()")
    child = Session(folder, parent=Session(folder).id).user("Look").assistant("Noted.")
    with Host(folder, plugin(noting)) as host:
        host.request(child.user("Look again"))
        host.compacts(child.compacting())
        host.request(child.summary("S.").user("Go on"))
        assert not started.exists()
        host.request(Session(folder).user("First question"))
    assert started.exists()


def test_a_shell_of_nobodys_session_is_left_alone(host: Host, project: Path) -> None:
    """opencode's terminal has none."""
    answer = host.call("shell.env", {"cwd": str(project)}, {"env": {"A": "1"}})
    assert answer.error is None
    assert answer.output["env"] == {"A": "1"}


def test_a_phase_advanced_from_the_shell_is_the_sessions(host: Host, project: Path) -> None:
    """So that the session gets that workflow, where there are several."""
    session = Session(project).user("First question")
    host.know(session)
    env = host.call("shell.env", {"cwd": str(project), "sessionID": session.id}, {"env": {}}).output
    holdfast(project, "start", "Another", "--type", "custom", "--phases", "One,Two")
    shell = env["env"]["CLAUDE_CODE_SESSION_ID"]
    holdfast(project, "phase", "next", "-w", "The long way", session=shell)
    (text,) = told(host.request(session.assistant("Noted.").compacting().summary("S.").user("On")))
    assert text.startswith(RESTORED)
    assert "is in phase 2 of 3: Build" in text


# Tools.


def use(host: Host, session: Session, tool: str, args: object, **metadata: object) -> Answer:
    call = {"tool": tool, "sessionID": session.id, "callID": f"call_{tool}"}
    before = host.call("tool.execute.before", call, {"args": args})
    if before.error is not None:
        return before
    output = {"title": "", "output": "Done.", "metadata": metadata}
    return host.call("tool.execute.after", {**call, "args": args}, output)


def test_what_the_tools_do_is_told_after_a_compaction(host: Host, project: Path) -> None:
    """Files, checks and open tasks; a subagent's files, too."""
    session = Session(project).user("First question")
    child = Session(project, parent=session.id).user("Sub")
    host.know(session, child)
    host.request(session)
    holdfast(project, "phase", "next", session=session.id)
    use(host, session, "edit", {"filePath": str(project / "edited.py")})
    use(host, session, "write", {"filePath": "written.py"})
    use(host, child, "write", {"filePath": str(project / "by the subagent.py")})
    patch = "*** Begin Patch\n*** Update File: old.py\n*** Move to: moved.py\n@@\n*** Add File: added.py\n+*** Delete File: no\n*** End Patch"
    use(host, session, "apply_patch", {"patchText": patch})
    use(host, session, "todowrite", {"todos": [{"content": "Weigh it", "status": "pending"}]})
    use(host, session, "bash", {"command": "pytest -q"}, exit=1)
    session.assistant("Noted.").compacting()
    host.compacts(session)
    (text,) = told(host.request(session.summary("S.").user("On")))
    observed = text.partition("## Observed")[2].partition("\n## ")[0]
    for name in ("edited.py", "written.py", "by the subagent.py", "old.py", "moved.py", "added.py"):
        assert name in observed
    assert "no," not in observed
    assert "Weigh it" in observed
    assert "pytest -q" in observed
    assert "failed" in observed


def test_a_command_that_was_stopped_has_no_result(host: Host, project: Path) -> None:
    """Neither passed nor failed."""
    session = Session(project).user("First question")
    host.know(session)
    holdfast(project, "phase", "next", session=session.id)
    use(host, session, "bash", {"command": "pytest -q"}, exit=None)
    session.assistant("Noted.").compacting()
    host.compacts(session)
    (text,) = told(host.request(session.summary("S.").user("On")))
    line = next(line for line in text.splitlines() if "pytest -q" in line)
    assert "passed" not in line
    assert "failed" not in line


def test_a_guarded_file_is_not_changed(host: Host, project: Path) -> None:
    """The call is refused with the reason; of any other file it is not."""
    (project / ".claude").mkdir(exist_ok=True)
    (project / ".claude/holdfast.toml").write_text('guard = "all"\n', encoding="utf-8")
    session = Session(project).user("First question")
    host.know(session)
    (state,) = project.glob("untracked/workflow-state/*/*.json")
    answer = use(host, session, "write", {"filePath": str(state)})
    assert answer.error is not None
    assert "holdfast" in answer.error
    assert use(host, session, "write", {"filePath": str(project / "a.txt")}).error is None


def test_what_was_too_long_to_be_sent_is_asked_for(host: Host, project: Path) -> None:
    """Once, with the result of the first change: opencode has no other way to tell the model there."""
    (project / "docs/long.md").write_text("words\n" * 20_000, encoding="utf-8")
    holdfast(project, "read", "@docs/long.md")
    session = Session(project).user("First question").assistant("Noted.").compacting()
    host.request(session.summary("S.").user("On"))
    first = use(host, session, "edit", {"filePath": "a.py"}).output["output"]
    assert first.startswith("Done.\n\n")
    assert "docs/long.md" in first
    assert use(host, session, "edit", {"filePath": "b.py"}).output["output"] == "Done."


def test_what_was_not_opened_keeps_a_change_back(host: Host, project: Path) -> None:
    """Where the project wants it so, until it is opened."""
    (project / ".claude").mkdir(exist_ok=True)
    (project / ".claude/holdfast.toml").write_text('gate = "block"\n', encoding="utf-8")
    (project / "docs/long.md").write_text("words\n" * 20_000, encoding="utf-8")
    holdfast(project, "read", "@docs/long.md")
    session = Session(project).user("First question").assistant("Noted.").compacting()
    host.request(session.summary("S.").user("On"))
    assert "docs/long.md" in (use(host, session, "edit", {"filePath": "a.py"}).error or "")
    use(host, session, "read", {"filePath": str(project / "docs/long.md")})
    host.settled()
    assert use(host, session, "edit", {"filePath": "a.py"}).error is None


# Whatever goes wrong, opencode goes on, and the person is told once.


def story(host: Host, session: Session) -> list[str]:
    """Everything that can happen, and what the requests told."""
    host.know(session)
    host.event("session.created", info=session.info)
    texts = told(host.request(session.user("First question")))
    use(host, session, "edit", {"filePath": "a.py"})
    use(host, session, "bash", {"command": "pytest"}, exit=0)
    session.assistant("Noted.").compacting()
    host.know(session)
    texts.append(host.compacts(session))
    session.summary("S.")
    for prompt in ("Second", "Third", "Fourth"):
        texts += told(host.request(session.user(prompt)))
        session.assistant("Noted.")
    host.settled()
    return [text for text in texts if text]


def script(file: Path, text: str) -> str:
    file.write_text(f"#!{sys.executable} -IS\nimport os, sys, time\n{text}", encoding="utf-8")
    file.chmod(0o755)
    return str(file)


def test_a_program_that_is_missing(
    folder: Path, tmp_path: Path, plugin: Callable[..., Path]
) -> None:
    """It was uninstalled, and the plugin left behind."""
    missing = str(tmp_path / "no such folder" / "holdfast")
    with Host(folder, plugin(missing)) as host:
        assert story(host, Session(folder)) == []
        (toast,) = host.shown
    assert toast["variant"] == "warning"
    assert toast["message"].startswith(f"{missing} could not be started: ")


def test_a_program_that_is_slow(folder: Path, tmp_path: Path, plugin: Callable[..., Path]) -> None:
    """A request waits for it twice, and never again until the next compaction."""
    slow = script(tmp_path / "slow", "time.sleep(60)")
    session = Session(folder)
    with Host(folder, plugin(slow, patience=300)) as host:
        session.user("First question")
        waits = []
        for prompt in ("Second", "Third", "Fourth"):
            waits.append(host.request(session).took)
            session.assistant("Noted.").user(prompt)
        assert story(host, session) == []
        assert [each["message"] for each in host.shown] == [f"{slow} did not answer within 0.3 s"]
    assert waits[0] > 0.3
    assert waits[1] > 0.3
    assert waits[2] < 0.3


@pytest.mark.parametrize(
    "text",
    [
        'print("What is this?")',
        'print("[1, 2")',
        'print("null")',
        "print(7)",
        "sys.stdout.buffer.write(bytes(range(256)) * 100)",
        """print('{"hookSpecificOutput": {"additionalContext": {"not": "text"}}, "systemMessage": 7}')""",
    ],
)
def test_a_program_that_prints_something_else(
    text: str, folder: Path, tmp_path: Path, plugin: Callable[..., Path]
) -> None:
    """No request has any of it. What it says at a compaction is text for the summariser, whatever it says."""
    garbage = script(tmp_path / "garbage", text)
    session = Session(folder)
    with Host(folder, plugin(garbage)) as host:
        story(host, session)
        answer = host.request(session.user("Last"))
        assert [said for role, said in answer.texts if role == "user"][-1] == "Last"
        assert len(answer.texts) == len(session.sent()) - 1  # but for the compaction's own


def test_a_program_that_prints_without_end(
    folder: Path, tmp_path: Path, plugin: Callable[..., Path]
) -> None:
    """It is stopped."""
    endless = script(tmp_path / "endless", "while True: print('x' * 100_000)")
    with Host(folder, plugin(endless)) as host:
        assert story(host, Session(folder)) == []
        assert [each["message"] for each in host.shown] == [
            f"{endless} prints more than 1000000 characters"
        ]


def test_a_program_that_fails(folder: Path, tmp_path: Path, plugin: Callable[..., Path]) -> None:
    """Its own first line is shown, as when a save fails; what it printed is not used."""
    failing = script(
        tmp_path / "failing", "print('{}'); sys.exit('The disk is full.\\nAnd so on.')"
    )
    with Host(folder, plugin(failing)) as host:
        assert story(host, Session(folder)) == []
        assert [each["message"] for each in host.shown] == ["The disk is full."]


def test_a_program_that_reads_nothing(
    folder: Path, tmp_path: Path, plugin: Callable[..., Path]
) -> None:
    """A pipe that is closed on us is no error, however much was to be said."""
    deaf = script(tmp_path / "deaf", "os.close(0); print('{}')")
    session = Session(folder).user("First question").assistant("Noted.").compacting()
    session.summary("words " * 200_000)
    with Host(folder, plugin(deaf)) as host:
        assert told(host.request(session.user("On"))) == []
        assert host.shown == []


def test_a_slow_start_is_made_good(
    project: Path, tmp_path: Path, plugin: Callable[..., Path]
) -> None:
    """Where the first request had to go without the guidance, the second has it."""
    once = tmp_path / "once"
    late = script(
        tmp_path / "late",
        f"""
if not os.path.exists({str(once)!r}):
    open({str(once)!r}, "w").close()
    time.sleep(60)
os.execv({HOLDFAST!r}, ["holdfast", *sys.argv[1:]])
""",
    )
    session = Session(project).user("First question")
    with Host(project, plugin(late, patience=5_000)) as host:
        assert told(host.request(session)) == []
        answer = host.request(session.assistant("Noted.").user("Second question"))
    assert told(answer)[0].startswith(RESUMED)
    assert answer.texts[-1] == ("user", "Second question")


@pytest.mark.parametrize("failing", [("SessionStart",), ("PostCompact", "SessionStart")])
@pytest.mark.parametrize("answered", [True, False])
def test_a_second_try_counts_no_second_compaction(
    failing: tuple[str, ...],
    project: Path,
    tmp_path: Path,
    plugin: Callable[..., Path],
    *,
    answered: bool,
) -> None:
    """Whether the model has answered in between or not. What Holdfast has noted is not said again; what failed is."""
    once = script(
        tmp_path / "once",
        f"""
import json, subprocess
payload = sys.stdin.read()
event = json.loads(payload)["hook_event_name"]
mark = {str(tmp_path)!r} + "/failed at " + event
if event in {failing!r} and not os.path.exists(mark):
    open(mark, "w").close()
    sys.exit("The disk is full.")
done = subprocess.run([{HOLDFAST!r}, *sys.argv[1:]], input=payload, text=True)
sys.exit(done.returncode)
""",
    )
    session = Session(project).user("First question").assistant("Noted.").compacting()
    with Host(project, plugin(once)) as host:
        assert told(host.request(session.summary("S.").user("Second question"))) == []
        if answered:
            session.assistant("Noted as well.")
        (text,) = told(host.request(session.user("Third question")))
    assert text.startswith(RESTORED)
    assert SALT in text
    noted = json.loads(holdfast(project, "status", "--json"))["compactions"]
    assert noted["count"] == 1
    assert SALT in str(noted["last"]["missing"])


@pytest.mark.parametrize("trouble", ["throws", "rejects", "nonsense"])
def test_an_opencode_that_answers_nothing(host: Host, folder: Path, trouble: str) -> None:
    """Its own interface may change: then nobody is told anything, and nothing breaks."""
    host.set(trouble=trouble)
    session = Session(folder).user("First question")
    assert told(host.request(session)) == []
    assert host.compacts(session.assistant("Noted.").compacting()) == ""
    assert use(host, session, "edit", {"filePath": "a.py"}).error is None
    answer = host.call("shell.env", {"cwd": str(folder), "sessionID": session.id}, {"env": {}})
    assert answer.error is None
    host.settled()


def test_an_opencode_that_does_not_say_what_began_a_compaction(host: Host, project: Path) -> None:
    """The workflow is saved all the same."""
    host.set(trouble="no messages")
    session = Session(project).user("First question").assistant("Noted.").compacting()
    assert '"The long way" is in phase 1 of 3' in host.compacts(session)


NONSENSE = [None, {}, [], 7, "text", {"sessionID": 7}, {"event": None}, {"messages": [None]}]


@pytest.mark.parametrize("value", NONSENSE)
def test_hooks_that_are_called_in_another_way(host: Host, value: object) -> None:
    """A newer opencode may hand over anything."""
    hooks = (TRANSFORM, COMPACTING, "event", "shell.env", "tool.execute.before")
    for hook in (*hooks, "tool.execute.after", "dispose"):
        for given_, output in ((value, {}), ({}, value), (value, value)):
            assert host.call(hook, given_, output).error is None
    for tool in ("edit", "apply_patch", "bash", "read", "todowrite", "constructor"):
        call = {"tool": tool, "sessionID": "ses_unknown", "callID": "call"}
        assert host.call("tool.execute.before", call, {"args": value}).error is None
        answer = host.call("tool.execute.after", {**call, "args": value}, {"output": "Done."})
        assert answer.error is None
        assert answer.output["output"] == "Done."
    for kind in ("session.created", "session.deleted", "constructor"):
        event = {"type": kind, "properties": value}
        assert host.call("event", {"event": event}).error is None
    host.settled()


def test_two_sessions_at_once(host: Host, project: Path) -> None:
    """Each is told of its own workflow, whoever asks first."""
    holdfast(project, "start", "Another way", "--type", "custom", "--phases", "One,Two")
    sessions = [Session(project).user("First question").assistant("Noted.") for _ in range(2)]
    for session, name in zip(sessions, ("The long way", "Another way"), strict=True):
        holdfast(project, "switch", name, session=session.id)
        session.compacting().summary("S.").user("On")
    host.know(*sessions)
    for _ in range(2):
        answers = host.at_once(
            *((TRANSFORM, {}, {"messages": session.sent()}) for session in sessions)
        )
        for answer, name in zip(answers, ("The long way", "Another way"), strict=True):
            heads = [text.splitlines()[0] for _, text in answer.texts if text.startswith("# ")]
            assert heads == [f"# Workflow restored after the compaction: {name}"]


def test_a_plugin_that_is_installed_twice(project: Path, plugin: Callable[..., Path]) -> None:
    """For the person and for the project: one of them acts."""
    session = Session(project).user("First question").assistant("Noted.")
    with Host(project, plugin(name="first.js"), plugin(name="second.js")) as host:
        note = host.compacts(session.compacting())
        assert note.count("The long way") == 1
        assert len(told(host.request(session.summary("S.").user("On")))) == 1
        assert len(host.shown) == 1


def test_a_program_with_a_space_in_its_path(
    project: Path, tmp_path: Path, plugin: Callable[..., Path]
) -> None:
    """No shell reads it. It is started where the session works, and told so."""
    seen = tmp_path / "seen.json"
    odd = script(
        tmp_path / "a $(name) 'with' \"quotes\"",
        f"""
import json
with open({str(seen)!r}, "w") as file:
    json.dump([sys.argv[1:], os.getcwd(), os.environ["CLAUDE_PROJECT_DIR"], json.load(sys.stdin)], file)
""",
    )
    session = Session(project).user("First question")
    with Host(tmp_path, plugin(odd, "--first")) as host:
        host.request(session)
    words, folder, client_project, payload = json.loads(seen.read_text(encoding="utf-8"))
    assert words == ["--first", "hook", "--agent", "opencode"]
    assert folder == client_project == payload["cwd"] == str(project)
    assert payload == {
        "session_id": session.id,
        "transcript_path": None,
        "cwd": str(project),
        "hook_event_name": "SessionStart",
        "source": "startup",
    }


def test_a_project_without_a_workflow_costs_little(
    tmp_path: Path, plugin: Callable[..., Path]
) -> None:
    """One look at the start of a session; nothing is shown and nothing is said."""
    session = Session(tmp_path).user("First question")
    with Host(tmp_path, plugin()) as host:
        assert host.request(session).texts == [("user", "First question")]
        began = time.perf_counter()
        for _ in range(20):
            host.request(session)
        assert time.perf_counter() - began < 1
        assert host.shown == []


# The text that is installed.


@given(st.lists(st.text(), min_size=1))
def test_the_program_is_found_again(program: list[str]) -> None:
    """Whatever it is called."""
    text = clients.opencode_plugin(program)
    assert clients.program_in(text) == program
    assert len(text.splitlines()) == len(clients.opencode_plugin(["holdfast"]).splitlines())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "export default 1",
        "const PROGRAM = 7",
        "const PROGRAM = [",
        'const PROGRAM = ["a", 7]',
        "const PROGRAM = []",
        f"const PROGRAM = {'[' * 100_000}",
    ],
)
def test_another_plugin_has_no_program(text: str) -> None:
    """A file of that name may be somebody else's."""
    assert clients.program_in(text) is None
