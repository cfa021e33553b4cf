"""`holdfast doctor` finds what is wrong, says why, and names what repairs it; and that repairs it."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from holdfast.agents.clients import CLAUDE, CLIENTS
from holdfast.config.project import Surroundings
from holdfast.setup import registration
from holdfast.setup.doctor import Finding, project, registered
from holdfast.setup.registration import Program
from holdfast.testing import Compactions, Project
from holdfast.workflows import sync

COMMAND = Path(sys.executable).parent / "holdfast"
GONE = Program("/gone/holdfast")


class Patient(NamedTuple):
    """A project where all is well, until a test plants a fault."""

    project: Project
    programs: Path  # the only folder of ours on PATH
    settings: Path  # of the user
    tries_hooks: bool = True

    def register(self, hooks: dict[str, Any], **more: object) -> None:
        self.settings.write_text(json.dumps({"hooks": hooks, **more}), encoding="utf-8")

    def doctor(self, *arguments: str) -> dict[str, Any]:
        done = self.project.run("doctor", "--json", *arguments, check=False)
        assert done.stderr == ""
        found: dict[str, Any] = json.loads(done.stdout)
        assert done.returncode == (0 if found["whole"] else 1)
        return found

    def found(self, *levels: str) -> list[dict[str, Any]]:
        return [
            each
            for each in self.doctor()["findings"]
            if each["level"] in (levels or ("wrong",))
            and (self.tries_hooks or not each["what"].startswith("/gone/"))
        ]

    def only(self, *levels: str) -> dict[str, Any]:
        """The one thing that is wrong, and that says why and what to do."""
        (found,) = self.found(*levels)
        assert found["cause"]
        assert found["fix"]
        return found

    def here(self) -> Surroundings:
        environment, root = self.project.environment(), str(self.project.root)
        return Surroundings.from_environment(environment)._replace(cwd=root)

    def kept(self, level: str = "wrong") -> list[Finding]:
        """What is found of the project alone, without starting a hook."""
        here = self.here()
        view = sync.survey(None, here, self.project.clock)
        found = project.examine(view, here)
        return [each for each in found if each.level == level]

    def do(self, fix: str) -> None:
        """Give the command that was named, as it stands there."""
        words = shlex.split(fix)
        if words[0] == "holdfast":
            self.project.run(*words[1:])
        else:
            subprocess.run(words, cwd=self.project.root, check=True)


@pytest.fixture
def patient(
    holdfast_project: Project,
    compaction_cycle: Compactions,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Patient:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "holdfast").symlink_to(COMMAND)
    client = programs / "claude"
    client.write_text(f"#!/bin/sh\necho '{CLAUDE.tried[-1]} (Claude Code)'\n", encoding="utf-8")
    client.chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join([str(programs), "/usr/bin", "/bin"]))
    settings = holdfast_project.home / ".claude" / "settings.json"
    settings.parent.mkdir()
    holdfast_project.declare("W", reading=["@docs/guide.md"])
    holdfast_project.write("docs/guide.md", "# Guide\n")
    compaction_cycle()
    whole = Patient(holdfast_project, programs, settings)
    whole.register(registration.hooks())
    return whole


@pytest.fixture
def hookless(patient: Patient) -> Patient:
    """One whose registered program is not there, so that no recorded payload is tried with it."""
    patient.register(registration.hooks(GONE))
    return patient._replace(tries_hooks=False)


def test_nothing_is_wrong(patient: Patient) -> None:
    """And each thing that was looked at says so."""
    found = patient.doctor()
    assert found["whole"] is True
    # A machine that is busy is worth a note, and nothing is wrong with it.
    fine = {"good", "note"}
    checks = {each["check"]: each for each in found["findings"] if each["level"] in fine}
    assert {"hooks", "command", "client", "settings", "folders", "state", "log"} <= set(checks)
    assert "`holdfast hook` saves and restores, in " in checks["command"]["what"]
    done = patient.project.run("doctor")
    assert done.stdout.endswith("Nothing is wrong.\n")


def test_tool_events_that_no_server_answers(patient: Patient, hookless: Patient) -> None:
    """They are registered for it, and the client was never told of it."""
    patient.register(registration.hooks(by_server=True))
    found = patient.only()
    assert "Claude Code has no MCP server holdfast" in found["what"]
    assert found["fix"] == "claude mcp add --scope user holdfast -- holdfast mcp"
    hookless.register(registration.hooks(GONE, by_server=True))
    assert "Claude Code has no MCP server holdfast" in hookless.only()["what"]
    file = patient.project.home / ".claude.json"
    file.write_text(json.dumps({"mcpServers": {"holdfast": {"command": "holdfast"}}}))
    assert hookless.found() == []
    mine = {str(patient.project.root): {"mcpServers": {"holdfast": {}}}}
    file.write_text(json.dumps({"projects": mine}))
    assert hookless.found() == []
    file.write_text("not JSON, so it tells nothing")
    assert hookless.found() == []


def test_not_on_the_path(patient: Patient) -> None:
    """The client would find no `holdfast` either."""
    (patient.programs / "holdfast").unlink()
    found = patient.only()
    assert found["what"] == "`holdfast` is not on the PATH"
    patient.do(found["fix"])
    assert patient.found() == []


def test_an_old_path(patient: Patient) -> None:
    """What is left of an environment that was deleted."""
    patient.register(registration.hooks(Program("/opt/old venv/bin/holdfast")))
    found = patient.only()
    assert found["what"] == "/opt/old venv/bin/holdfast is not there"
    patient.do(found["fix"])
    assert patient.found() == []


def test_a_program_that_is_another_one(patient: Patient) -> None:
    """It is called holdfast, and is none; or it is broken."""
    broken = patient.programs / "holdfast"
    broken.unlink()
    broken.write_text("#!/bin/sh\necho oh dear >&2\nexit 3\n", encoding="utf-8")
    broken.chmod(0o755)
    found = patient.only()
    assert "exit code 3: oh dear" in found["cause"]
    broken.write_text("#!/bin/sh\necho Welcome\n", encoding="utf-8")
    assert "it said 'Welcome\\n'" in patient.only()["cause"]


def test_registered_twice(hookless: Patient) -> None:
    """By two settings with different programs."""
    local = hookless.project.write(".claude/settings.local.json", "{}")
    local.write_text(json.dumps({"hooks": registration.hooks(Program("/gone/elsewhere/holdfast"))}))
    found = hookless.only()
    assert found["what"].startswith("registered twice: in the user settings")
    hookless.do(found["fix"])
    assert hookless.found() == []


def test_the_plugin_and_the_settings(hookless: Patient) -> None:
    """The plugin's hooks come on top."""
    hookless.register(registration.hooks(GONE), enabledPlugins={"holdfast@holdfast": True})
    found = hookless.only()
    assert "the plugin holdfast@holdfast" in found["what"]
    hookless.do(found["fix"])
    assert hookless.found() == []


def test_what_a_repository_names_is_not_started(hookless: Patient, tmp_path: Path) -> None:
    """The doctor only looks; who trusts a project tells the client so, not us."""
    trap = hookless.project.write("bin/holdfast", f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
    trap.chmod(0o755)
    hooks = registration.hooks(Program(str(trap)))
    shell = {"type": "command", "command": "sh", "args": ["-c", f"touch {tmp_path}/x; /holdfast"]}
    hooks["PreCompact"][0]["hooks"].append({**shell, "args": [*shell["args"], "hook"]})
    hookless.project.write(".claude/settings.json", json.dumps({"hooks": hooks}))
    notes = [each["what"] for each in hookless.found("note")]
    assert f"{trap} was not tested" in notes
    assert not (tmp_path / "sprung").exists()
    assert not (tmp_path / "x").exists()


def test_the_same_hook_in_other_words_runs_twice(hookless: Patient) -> None:
    """The client takes a line for a shell and a program with arguments for two."""
    hooks = {"PreCompact": [{"hooks": [{"type": "command", "command": "/gone/holdfast hook"}]}]}
    hookless.project.write(".claude/settings.json", json.dumps({"hooks": hooks}))
    assert "registered twice" in hookless.only()["what"]
    hooks["PreCompact"] = registration.hooks(GONE)["PreCompact"]
    hookless.project.write(".claude/settings.json", json.dumps({"hooks": hooks}))
    assert hookless.found() == []


def test_two_copies_of_the_plugin(patient: Patient) -> None:
    """Each runs its own hooks; the repair is the client's, with the scope."""
    enabled = {"holdfast@a": True, "holdfast@b": True}
    patient.register({}, enabledPlugins=enabled)
    found = patient.only()
    assert "the plugin holdfast@a" in found["what"]
    assert "the plugin holdfast@b" in found["what"]
    assert found["fix"] == "claude plugin uninstall holdfast@a --scope user"


def test_more_parts_than_the_plugin_registers(patient: Patient) -> None:
    """To install the settings as well would run every hook twice."""
    patient.register({}, enabledPlugins={"holdfast@a": True})
    config = patient.project.home / ".config" / "holdfast" / "holdfast.toml"
    config.parent.mkdir(parents=True)
    config.write_text("parts = 13\n", encoding="utf-8")
    assert patient.only()["fix"].startswith("set parts = 12 in your holdfast.toml")


def test_settings_are_looked_for_where_the_client_does(patient: Patient) -> None:
    """Not where the workflow lies."""
    patient.settings.unlink()
    patient.project.git("init", "-q")
    patient.project.run("install", "--scope", "project")
    sub = patient.project.write("sub/PLAN.md", "# P\n\n**Status**: 🔄 In Progress\n").parent
    done = patient.project.run("doctor", "--json", cwd=sub, check=False)
    assert json.loads(done.stdout)["whole"] is True


def test_an_activated_environment_is_not_on_the_clients_path(
    patient: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This shell finds `holdfast`, and the client need not."""
    monkeypatch.setenv("VIRTUAL_ENV", str(patient.programs))
    environment = {**patient.project.environment(), "VIRTUAL_ENV": str(patient.programs)}
    here = Surroundings.from_environment(environment)._replace(cwd=str(patient.project.root))
    found = [each.what for each in registered.examine(here) if each.level == "wrong"]
    assert found == ["`holdfast` is not on the PATH"]


def test_a_line_that_only_a_shell_understands_is_not_called_missing(patient: Patient) -> None:
    """Nor is what somebody has wrapped around us ours."""
    hooks = {
        "PreCompact": [
            {"hooks": [{"type": "command", "command": '"$CLAUDE_PROJECT_DIR"/v/holdfast hook'}]},
            {"hooks": [{"type": "command", "command": "cd /tmp && holdfast hook"}]},
        ]
    }
    patient.register(hooks)
    whats = [each["what"] for each in patient.found("note", "wrong")]
    assert '`"$CLAUDE_PROJECT_DIR"/v/holdfast hook` was not tested' in whats
    assert not [what for what in whats if "`cd`" in what]


@pytest.mark.parametrize("name", [name for name, client in CLIENTS.items() if client.said])
def test_what_install_registers_answers_an_agent(name: str, patient: Patient) -> None:
    """The real hooks, given what the agent really sends. Only trust is left for a person to give."""
    patient.project.run("install", "--agent", name)
    found = patient.doctor("--agent", name)["findings"]
    wrong = [each["check"] for each in found if each["level"] == "wrong"]
    assert wrong == (["trust"] if name == "codex" else [])
    (tried,) = [each["what"] for each in found if each["check"] == "command"]
    assert f"hook --agent {name}` saves and restores, in " in tried


@pytest.mark.parametrize("name", list(CLIENTS))
def test_the_version_of_an_agent(name: str, patient: Patient) -> None:
    """As each prints it, held against those that were tried."""
    agent = CLIENTS[name]
    printed = {"codex": "codex-cli {}", "copilot": "GitHub Copilot CLI {}.\nRun `copilot update`"}
    program = patient.programs / agent.name
    program.unlink(missing_ok=True)
    for version, level in ((agent.tried[-1], "good"), ("0.0.1", "note"), ("999.0.0", "note")):
        says = printed.get(name, "{}").format(version)
        program.write_text(f"#!/bin/sh\ncat <<'E'\n{says}\nE\n", encoding="utf-8")
        program.chmod(0o755)
        (found,) = registered.examine_client(agent)
        newer_claude = name == "claude" and version == "999.0.0"
        assert (found.level, version in found.what) == ("good" if newer_claude else level, True)
    program.unlink()
    (found,) = registered.examine_client(agent)
    assert found.what == f"the version of {agent.title} is not known"


def test_switched_off_nothing_is_repaired(hookless: Patient) -> None:
    """Nothing may be written then, by no command."""
    path = hookless.project.state_files()[0]
    path.write_text("{", encoding="utf-8")
    hookless.project.write(".claude/holdfast.toml", "enabled = false\n")
    found = hookless.doctor("--fix")
    assert any("switched off" in each for each in found["fixed"])
    assert path.read_text(encoding="utf-8") == "{"


def test_what_a_newer_release_keeps_is_not_called_wrong(patient: Patient) -> None:
    """It knows better, and no repair of ours would help."""
    path = patient.project.state_files()[0]
    state = json.loads(path.read_bytes())
    state["holdfast"]["version"] = 99
    state["phase"]["status"] = "paused"
    path.write_text(json.dumps(state), encoding="utf-8")
    assert patient.kept() == []
    assert any("newer Holdfast" in each.cause for each in patient.kept("note"))


def test_what_is_repaired_is_said_as_it_is(hookless: Patient) -> None:
    """Without a copy there is none to come back."""
    bad = hookless.project.write("untracked/workflow-state/x/state-x-20260101_000000.json", "{")
    done = hookless.doctor("--fix")["fixed"]
    assert [f"{bad.relative_to(hookless.project.root)} could not be read" in each for each in done]
    assert not any("last good copy" in each for each in done)


def test_a_folder_that_is_read_only(hookless: Patient) -> None:
    """The state could not be saved."""
    folder = hookless.project.state_files()[0].parent
    folder.chmod(0o555)
    found = hookless.only()
    assert found["what"] == f"{folder} cannot be written to"
    hookless.do(found["fix"])
    assert hookless.kept() == []


def test_a_file_in_the_place_of_a_folder(holdfast_project: Project, patient: Patient) -> None:
    """Nothing could be made in it."""
    shutil.rmtree(holdfast_project.root / "untracked" / "workflow-state")
    holdfast_project.write("untracked/workflow-state", "a file")
    found = next(each for each in patient.kept() if each.cause == "it is not a folder")
    patient.do(found.fix)
    assert patient.kept() == []


def test_a_state_that_cannot_be_read(patient: Patient) -> None:
    """It is set aside, and the last good copy comes back."""
    path = patient.project.state_files()[0]
    before = json.loads(path.read_bytes())
    path.write_text('{"workflow": "W", ', encoding="utf-8")
    found = patient.only()
    assert (found["check"], found["safe"]) == ("state", True)
    patient.project.run(*shlex.split(found["fix"])[1:])
    assert patient.project.state()["phase"] == before["phase"]
    assert list((patient.project.root / ".claude/holdfast/quarantine").iterdir())


def test_a_field_that_is_wrong_is_for_a_person_to_correct(hookless: Patient) -> None:
    """`--fix` was named as the cure, and changed nothing."""
    path = "workspace/workflow-state/x.json"
    hookless.project.write(path, '{"workflow_id": "x", "workflow_type": "x", "status": "done"}')
    found = hookless.only()
    assert (found["check"], found["safe"]) == ("state", False)
    assert found["fix"] == f"correct it, then holdfast inspect {path}"


def test_a_wrong_key_in_the_settings(hookless: Patient) -> None:
    """With a guess at what was meant."""
    path = hookless.project.write(".claude/holdfast.toml", 'gatee = "off"\n')
    found = hookless.only()
    assert "unknown key 'gatee' (did you mean 'gate'?)" in found["cause"]
    assert found["fix"] == f"edit {path}"


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (
            lambda hooks: hooks["SessionStart"][1]["hooks"].pop(),
            "SessionStart --part 12",
        ),
        (lambda hooks: hooks["PreCompact"][0].update(matcher="manual"), "PreCompact"),
        (lambda hooks: hooks["SessionStart"][0].update(matcher="startup"), "SessionStart"),
        (lambda hooks: hooks.pop("PostCompact"), "PostCompact"),
        (
            lambda hooks: hooks["SessionStart"][0]["hooks"][0].update({"async": True}),
            "SessionStart",
        ),
        (lambda hooks: hooks["PostToolUse"].pop(0), "PostToolUse"),
        (lambda hooks: hooks["PreToolUse"][0]["hooks"][0].update(timeout=0.5), "PreToolUse"),
        (lambda hooks: hooks["PreCompact"][0].update(matcher="*"), None),
        (lambda hooks: hooks["PreCompact"][0]["hooks"][0].update(timeout=9), None),
    ],
)
def test_what_is_not_registered(
    change: Callable[[dict[str, Any]], object], cause: str | None, hookless: Patient
) -> None:
    """A wrong matcher, a missing event, a part too few; a longer timeout is the person's own business."""
    hooks = registration.hooks(GONE)
    change(hooks)
    hookless.register(hooks)
    found = registered.examine(hookless.here())
    told = [finding for finding in found if finding.what.startswith("not everything")]
    assert [finding.cause for finding in told] == ([cause] if cause else [])
    assert all(finding.fix == "holdfast install --scope user" for finding in told)


def test_fewer_parts_than_the_settings_say(hookless: Patient) -> None:
    """The guidance would promise what no hook sends."""
    config = hookless.project.home / ".config" / "holdfast"
    config.mkdir(parents=True)
    (config / "holdfast.toml").write_text("parts = 15\n", encoding="utf-8")
    found = hookless.only()
    assert found["cause"].endswith("--part 13, SessionStart --part 14, SessionStart --part 15")
    hookless.do(found["fix"])
    assert hookless.found() == []


def test_a_finished_workflow_is_left_over(hookless: Patient) -> None:
    """`--fix` completes it; its last state is kept."""
    hookless.project.declare("W", phase="3/3 - Last", status="completed")
    (hookless.project.root / "CLAUDE.local.md").unlink()
    hookless.project.run("phase", "set", "3", "--status", "completed")
    (found,) = [each for each in hookless.found("note") if each["check"] == "left over"]
    assert found["fix"] == "holdfast complete W"
    assert any("Workflow completed: W" in each for each in hookless.doctor("--fix")["fixed"])
    assert hookless.project.state_files() == []
    assert list((hookless.project.root / ".claude/holdfast/archive").iterdir())


def test_what_only_a_person_can_put_away_is_named_and_left(hookless: Patient) -> None:
    """A feature's docs are to be published, a run to be archived; neither is simply ended."""
    project = hookless.project
    project.run("orchestrate", "start", "docs/a.md", "-t", "1.1 Model")
    project.run("orchestrate", "fail", "no time")
    project.run("gate", "start", "user-auth", "--title", "User Auth")
    _complete(project.root / "workflow/user-auth")
    found = [each for each in hookless.found("note") if each["check"] == "left over"]
    fixes = [each["fix"] for each in found]
    assert fixes == ["holdfast gate finalize -w user-auth", "holdfast orchestrate archive"]
    assert "not repaired" not in "".join(hookless.doctor("--fix")["fixed"])
    for fix in fixes:
        hookless.do(fix)
    assert "left over" not in {each["check"] for each in hookless.found("note")}


def _complete(folder: Path) -> None:
    """As an orchestrator of its own would have left it."""
    path = folder / "workflow-state.json"
    state = json.loads(path.read_bytes())
    state |= {"status": "completed", "current_phase": "05-documentation", "pr_number": 7}
    for phase, summary in state["phases"].items():
        summary["status"] = "approved"
        status = folder / phase / "status.json"
        status.write_text(json.dumps(json.loads(status.read_bytes()) | {"status": "approved"}))
    path.write_text(json.dumps(state))


@pytest.mark.parametrize(
    ("command", "fix"),
    [
        (("orchestrate", "start", "docs/a.md", "-t", "1.1 M"), "holdfast orchestrate fail REASON"),
        (("gate", "start", "a-b", "--title", "A B"), "holdfast gate cancel -w a-b"),
    ],
)
def test_what_is_stale_is_given_up_by_its_own_command(
    command: tuple[str, ...], fix: str, hookless: Patient
) -> None:
    hookless.project.run(*command)
    hookless.project.clock.advance(days=8)
    fixes = [each["fix"] for each in hookless.found("note") if each["check"] == "left over"]
    assert any(each.startswith(f"{fix}, or holdfast resume ") for each in fixes)
    hookless.do(fix)


@pytest.mark.parametrize("text", ['{"hooks": {},}', "// mine\n{}", "", "[]"])
def test_settings_of_the_client_that_are_no_json(hookless: Patient, text: str) -> None:
    """The client ignores such a file without a word."""
    local = hookless.project.write(".claude/settings.local.json", text)
    found = hookless.only()
    assert found["fix"] == f"edit {local}"


def test_all_hooks_are_switched_off(hookless: Patient) -> None:
    """By the client's own switch, or by ours."""
    hookless.register(registration.hooks(GONE), disableAllHooks=True)
    assert "disableAllHooks" in hookless.only()["cause"]
    hookless.project.write(".claude/holdfast.toml", "enabled = false\n")
    notes = [each.what for each in hookless.kept("note") if each.check == "settings"]
    assert notes == ["Holdfast is switched off"]


def test_nothing_is_registered(patient: Patient) -> None:
    """The first command that a newcomer forgets."""
    patient.settings.unlink()
    found = patient.only()
    assert found["what"] == "no settings register Holdfast"
    patient.do(f"{found['fix']} --yes")  # which asks on a terminal
    assert patient.found() == []


def test_a_client_that_is_too_old_or_missing(patient: Patient) -> None:
    """It may still work, so it is only a note."""
    program = patient.programs / "claude"
    for says, words in (("1.0.3 (Claude Code)", "1.0.3 is older"), ("what", "is not known")):
        program.write_text(f"#!/bin/sh\necho '{says}'\n", encoding="utf-8")
        assert [words in each.what for each in registered.examine_client()] == [True]
    program.unlink()
    assert ["is not known" in each.what for each in registered.examine_client()] == [True]


def test_git_sees_the_state(patient: Patient) -> None:
    """It is one person's, and so is what declares it."""
    patient.project.git("init", "-q")
    found = [each for each in patient.kept("note") if each.check == "git"]
    assert [each.what for each in found] == ["git does not ignore CLAUDE.local.md"]
    for each in found:
        subprocess.run(["/bin/sh", "-c", each.fix], cwd=patient.project.root, check=True)
    assert "git" not in {each.check for each in patient.kept("note")}


def test_git_sees_the_checkpoints_of_a_run(patient: Patient) -> None:
    """However many there are and will be, one line ignores them."""
    patient.project.git("init", "-q")
    patient.project.run("orchestrate", "start", "docs/a.md", "-t", "1.1 Model")
    for _ in range(2):
        patient.project.run("orchestrate", "checkpoint")
    told = [each.fix for each in patient.kept("note") if each.check == "git"]
    assert told.count("echo '.claude/checkpoint-*.json' >> .gitignore") == 1
    for fix in told:
        subprocess.run(["/bin/sh", "-c", fix], cwd=patient.project.root, check=True)
    assert "git" not in {each.check for each in patient.kept("note")}


def test_the_doctor_leaves_no_trace(patient: Patient) -> None:
    """It looks; the hooks that it runs have a project of their own."""
    before = _listing(patient.project)
    patient.doctor()
    assert _listing(patient.project) == before


def _listing(project: Project) -> dict[str, bytes]:
    files = [*project.root.rglob("*"), *project.home.rglob("*")]
    return {str(path): path.read_bytes() for path in files if path.is_file()}


def test_usage(patient: Patient) -> None:
    """--transcript belongs to --delivery."""
    for arguments in (
        ("--transcript", "x"),
        ("--delivery", "--fix"),
        ("--delivery", "--agent", "codex"),
        ("--agent", "another"),
    ):
        assert patient.project.run("doctor", *arguments, check=False).returncode == 2
