"""`holdfast install` and `uninstall`, as people give them, in a home of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.agents.clients import CLIENTS
from holdfast.setup import registration
from holdfast.setup.registration import Program
from holdfast.testing import Project
from terminal import typed

ROOT = Path(__file__).parents[2]
SCRIPT = Path(sys.executable).parent / "holdfast"
# Twelve hooks of others, and indentation that no tool makes.
OTHERS = (ROOT / "tests/samples/settings/twelve-hooks.json").read_bytes().decode()
PLUGIN = {"enabledPlugins": {"holdfast@holdfast": True}}
FILES = {
    "user": ".claude/settings.json",
    "project": ".claude/settings.json",
    "local": ".claude/settings.local.json",
}
USERS = {
    "codex": ".codex/hooks.json",
    "qwen": ".qwen/settings.json",
    "copilot": ".copilot/hooks/holdfast.json",
    "gemini": ".gemini/settings.json",
    "opencode": ".config/opencode/plugins/holdfast.js",
}
ALL = pytest.mark.parametrize("agent", USERS)
AGENTS = pytest.mark.parametrize("agent", [each for each in USERS if each != "opencode"])

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(holdfast_project: Project, tmp_path: Path) -> Run:
    """A command, with `holdfast` on the PATH."""
    commands = tmp_path / "commands"
    commands.mkdir()
    (commands / "holdfast").symlink_to(SCRIPT)

    def ran(
        *arguments: str, cwd: Path | None = None, **more: str
    ) -> subprocess.CompletedProcess[str]:
        env = holdfast_project.environment()
        env["PATH"] = f"{commands}{os.pathsep}{env['PATH']}"
        return subprocess.run(
            [SCRIPT, *arguments],
            cwd=cwd or holdfast_project.root,
            env={**env, **more},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )

    return ran


def settings(project: Project, scope: str = "user") -> Path:
    return (project.home if scope == "user" else project.root) / FILES[scope]


def put(project: Project, content: str | object, scope: str = "user") -> Path:
    file = settings(project, scope)
    file.parent.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, str) else json.dumps(content)
    file.write_bytes(text.encode())
    return file


def everything(*folders: Path) -> dict[str, bytes]:
    """Each file and folder below, and what is in it."""
    return {
        str(each): each.read_bytes() if each.is_file() else b"/"
        for folder in folders
        for each in folder.rglob("*")
    }


def test_a_fresh_file_is_the_example_to_the_byte(holdfast_project: Project, run: Run) -> None:
    """In the settings that a project shares, which name no path of one machine."""
    done = run("install", "--scope", "project")
    file = settings(holdfast_project, "project")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Registered 25 hooks in {file}\n" in done.stdout
    assert file.read_bytes() == (ROOT / "settings.example.json").read_bytes()
    assert file.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("scope", ["user", "project", "local"])
def test_install_twice_and_uninstall(scope: str, holdfast_project: Project, run: Run) -> None:
    """Byte for byte as before, in each scope, and nothing is left behind."""
    file = put(holdfast_project, OTHERS, scope)
    file.chmod(0o640)
    before = file.read_bytes()
    done = run("install", "--scope", scope)
    assert done.returncode == 0, done.stderr
    assert "Running sessions load the hooks within seconds" in done.stdout
    copy = Path(done.stdout.split("backup of the previous file: ")[1].splitlines()[0])
    assert copy.read_bytes() == before
    assert holdfast_project.home / ".local/state/holdfast" in copy.parents
    once = file.read_bytes()
    again = run("install", "--scope", scope)
    assert again.stdout.startswith(f"Nothing to do: the hooks in {file} are up to date")
    assert file.read_bytes() == once != before
    out = run("uninstall", "--scope", scope)
    assert out.stdout == f"Restored {file} as it was before `holdfast install`.\n"
    assert file.read_bytes() == before
    assert file.stat().st_mode & 0o777 == 0o640
    assert not copy.exists()
    assert list(copy.parent.iterdir()) == []
    assert run("uninstall", "--scope", scope).stdout.startswith("Nothing to do")


def test_what_install_made_uninstall_removes(holdfast_project: Project, run: Run) -> None:
    """The file, and its folder where that was made for it and nothing else came into it."""
    run("install")
    done = run("uninstall")
    assert done.stdout.startswith(f"Removed {settings(holdfast_project)}")
    assert not settings(holdfast_project).parent.exists()
    run("install", "--scope", "project")
    (holdfast_project.root / ".claude" / "commands").mkdir()
    run("uninstall", "--scope", "project")
    assert [each.name for each in (holdfast_project.root / ".claude").iterdir()] == ["commands"]


RULE = "Bash(holdfast:*)"


def test_yes_adds_the_permission_rule_and_uninstall_takes_it_back(
    holdfast_project: Project, run: Run
) -> None:
    """Byte for byte, beside rules of others; without --yes and without a terminal nothing is allowed."""
    before = json.dumps({"permissions": {"allow": ["Bash(ls:*)"], "deny": ["Read(.env)"]}})
    file = put(holdfast_project, before)
    run("install")
    assert RULE not in file.read_text()
    done = run("install", "--yes")
    assert f'Added the permission rule "{RULE}"' in done.stdout
    assert json.loads(file.read_bytes())["permissions"] == {
        "allow": ["Bash(ls:*)", RULE],
        "deny": ["Read(.env)"],
    }
    assert run("install", "--yes").stdout.startswith("Nothing to do")
    run("uninstall")
    assert file.read_text() == before


def test_uninstall_takes_the_rule_where_the_plugin_registers_the_hooks(
    holdfast_project: Project, run: Run
) -> None:
    """There is no hook in the settings, and a change of others since."""
    file = put(holdfast_project, PLUGIN)
    run("init", "--yes", "--only", "permission")
    value = json.loads(file.read_bytes())
    assert value == {**PLUGIN, "permissions": {"allow": [RULE]}}
    put(holdfast_project, {**value, "model": "other"})
    assert "the rest is unchanged" in run("uninstall").stdout
    assert json.loads(file.read_bytes()) == {**PLUGIN, "model": "other"}


@pytest.mark.parametrize(("answer", "is_allowed"), [("y", True), ("", True), ("n", False)])
def test_install_asks_for_the_rule_on_a_terminal(
    answer: str, is_allowed: bool, holdfast_project: Project
) -> None:
    """Once: where the hooks are current, it asks nothing."""
    environment = holdfast_project.environment()
    answers = [("commands without asking", f"{answer}\n")]
    shown = typed(["install"], answers, holdfast_project.root, environment)
    assert shown.code == 0
    assert "Registered 25 hooks" in shown.text
    assert (RULE in settings(holdfast_project).read_text()) == is_allowed
    again = typed(["install"], [], holdfast_project.root, environment)
    assert again.text.startswith("Nothing to do")


def test_a_rule_that_allows_more_is_left_as_it_is(holdfast_project: Project, run: Run) -> None:
    """Also in other settings; and no rule goes into what is no list."""
    put(holdfast_project, {"permissions": {"allow": ["Bash"]}}, "local")
    run("install", "--yes")
    assert RULE not in settings(holdfast_project).read_text()
    put(holdfast_project, {"permissions": {"allow": "all"}}, "local")
    put(holdfast_project, {"permissions": {"allow": "all"}})
    assert run("install", "--yes").returncode == 0
    assert json.loads(settings(holdfast_project).read_bytes())["permissions"] == {"allow": "all"}


def of_others(agent: str) -> str:
    """Hooks of others, as that agent takes them, with whatever else may stand in its file."""
    text = OTHERS
    if agent == "codex":  # it refuses a file with anything else
        hooks = json.loads(OTHERS)["hooks"]
        text = json.dumps({"description": "mine", "hooks": hooks}, indent=3) + "\n\n"
    assert text.count("command") > 12
    return text


@ALL
def test_the_same_with_other_agents(agent: str, holdfast_project: Project, run: Run) -> None:
    """What is installed is what is documented, and out again byte for byte; nothing is left behind."""
    file = holdfast_project.home / USERS[agent]
    client = CLIENTS[agent]
    done = run("install", "--agent", agent)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"in {file}\n" in done.stdout
    assert f"holdfast doctor --agent {agent}" in done.stdout
    assert ("open /hooks in Codex and trust them" in done.stdout) == (agent == "codex")
    assert file.read_text(encoding="utf-8") == registration.text(
        registration.hooks(Program(str(SCRIPT)), client=client), client
    )
    assert run("install", "--agent", agent).stdout.startswith("Nothing to do")
    out = run("uninstall", "--agent", agent)
    assert out.stdout == f"Removed {file}, which contained nothing else.\n"
    assert not file.parent.exists()


@AGENTS
def test_what_others_have_there_stays(agent: str, holdfast_project: Project, run: Run) -> None:
    """A dry run writes nothing; in and out again is as it was, or all but the change made meanwhile."""
    file = holdfast_project.home / USERS[agent]
    file.parent.mkdir(parents=True)
    before = of_others(agent).encode()
    file.write_bytes(before)
    dry = run("install", "--agent", agent, "--dry-run")
    assert "+++ as it would be" in dry.stdout
    assert file.read_bytes() == before
    done = run("install", "--agent", agent)
    assert done.returncode == 0, done.stderr
    once = file.read_bytes()
    copy = Path(done.stdout.split("backup of the previous file: ")[1].splitlines()[0])
    assert copy.read_bytes() == before
    out = run("uninstall", "--agent", agent)
    assert out.stdout == f"Restored {file} as it was before `holdfast install`.\n"
    assert file.read_bytes() == before
    run("install", "--agent", agent)
    file.write_bytes(once.replace(b"lint", b"check", 1))
    assert "the rest is unchanged" in run("uninstall", "--agent", agent).stdout
    assert file.read_bytes() == before.replace(b"lint", b"check", 1)


@ALL
def test_what_is_outdated_is_put_right(agent: str, holdfast_project: Project, run: Run) -> None:
    """Another path, as of an environment that is gone."""
    file = holdfast_project.home / USERS[agent]
    file.parent.mkdir(parents=True)
    client = CLIENTS[agent]
    file.write_text(
        registration.text(registration.hooks(Program("/old/holdfast"), client=client), client),
        encoding="utf-8",
    )
    done = run("install", "--agent", agent)
    assert f"up to date in {file}\n" in done.stdout
    assert "/old/" not in file.read_text(encoding="utf-8")


@AGENTS
def test_a_file_of_another_agent_with_a_problem(
    agent: str, holdfast_project: Project, run: Run
) -> None:
    """It is left alone, and what to put there is printed."""
    file = holdfast_project.home / USERS[agent]
    file.parent.mkdir(parents=True)
    file.write_text('{\n  // mine\n  "hooks": {}\n}', encoding="utf-8")
    before = everything(holdfast_project.home)
    done = run("install", "--agent", agent)
    assert done.returncode == 1
    assert "line 2, column 3: a comment" in done.stderr
    program = Program(str(SCRIPT))
    assert done.stdout == registration.text(
        registration.hooks(program, client=CLIENTS[agent]), CLIENTS[agent]
    )
    assert everything(holdfast_project.home) == before


@ALL
def test_what_was_not_tried_with_an_agent_is_refused(
    agent: str, holdfast_project: Project, run: Run
) -> None:
    """With the reason, and with what was."""
    for more in (("--scope", "project"), ("--scope", "local"), ("--mcp-hooks",)):
        done = run("install", "--agent", agent, *more)
        assert done.returncode == 1
        assert "not tested" in done.stderr
        assert f"holdfast install --agent {agent}\n" in done.stderr
    assert run("install", "--agent", "another").returncode == 2
    assert everything(holdfast_project.root) == {}


def test_a_plugin_that_is_not_as_it_should_be(holdfast_project: Project, run: Run) -> None:
    """What another release wrote is brought up to date; what is another's own is left alone."""
    file = holdfast_project.home / USERS["opencode"]
    file.parent.mkdir(parents=True)
    text = registration.text(
        registration.hooks(Program(str(SCRIPT)), client=CLIENTS["opencode"]), CLIENTS["opencode"]
    )
    file.write_text(text.replace("opencode goes on", "all goes on", 1), encoding="utf-8")
    done = run("install", "--agent", "opencode")
    assert f"Brought 1 hook up to date in {file}\n" in done.stdout
    assert file.read_text(encoding="utf-8") == text
    copy = Path(done.stdout.split("backup of the previous file: ")[1].splitlines()[0])
    assert "all goes on" in copy.read_text(encoding="utf-8")
    assert run("uninstall", "--agent", "opencode").stdout.startswith(f"Removed {file}")
    file.parent.mkdir(exist_ok=True)
    file.write_text("export const Mine = async () => ({})\n", encoding="utf-8")
    other = run("install", "--agent", "opencode")
    assert (other.returncode, other.stdout) == (1, text)
    assert f"{file} was not changed: it is not a plugin of Holdfast" in other.stderr
    assert run("uninstall", "--agent", "opencode").returncode == 1
    assert "Mine" in file.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("agent", "path", "content"),
    [
        (
            "codex",
            ".codex/config.toml",
            '[plugins."holdfast@holdfast"]\nenabled = true\n',
        ),
        (
            "qwen",
            ".qwen/extensions/holdfast/qwen-extension.json",
            "{}",
        ),
        (
            "copilot",
            ".copilot/settings.json",
            json.dumps(PLUGIN),
        ),
    ],
)
def test_the_plugin_of_an_agent_beside_its_file(
    agent: str, path: str, content: str, holdfast_project: Project, run: Run
) -> None:
    """Then every hook runs twice."""
    noted = holdfast_project.home / path
    noted.parent.mkdir(parents=True)
    noted.write_text(content, encoding="utf-8")
    done = run("install", "--agent", agent)
    assert "every hook runs twice" in done.stderr
    assert f"to repair it: holdfast uninstall --agent {agent}" in done.stderr


def test_codex_is_not_told_to_trust_us(holdfast_project: Project, run: Run) -> None:
    """That is for the person to do; the notes of Codex stay as they are."""
    notes = holdfast_project.home / ".codex" / "config.toml"
    notes.parent.mkdir()
    notes.write_text('model = "x"\n', encoding="utf-8")
    run("install", "--agent", "codex")
    run("uninstall", "--agent", "codex")
    assert notes.read_text(encoding="utf-8") == 'model = "x"\n'
    assert [each.name for each in notes.parent.iterdir()] == ["config.toml"]


def test_a_file_that_codex_refuses(holdfast_project: Project, run: Run) -> None:
    """Nothing is put in, since it would not run; what is in can be taken out."""
    file = holdfast_project.home / USERS["codex"]
    run("install", "--agent", "codex")
    text = file.read_text(encoding="utf-8").replace("{\n", '{\n  "model": "x",\n', 1)
    file.write_text(text, encoding="utf-8")
    done = run("install", "--agent", "codex")
    assert done.returncode == 1
    assert 'was not changed: Codex refuses the whole file for its "model"' in done.stderr
    assert run("uninstall", "--agent", "codex").returncode == 0
    assert file.read_text(encoding="utf-8") == '{\n  "model": "x"\n}\n'


def test_where_an_agent_was_told_to_look(holdfast_project: Project, run: Run) -> None:
    """Its own variable counts, as it does for the agent."""
    folder = holdfast_project.home / "elsewhere"
    folder.mkdir()
    run("install", "--agent", "codex", CODEX_HOME=str(folder))
    assert (folder / "hooks.json").is_file()
    assert not (holdfast_project.home / ".codex").exists()


def test_what_was_changed_since_keeps_the_change(holdfast_project: Project, run: Run) -> None:
    """The client adds a permission, a person another hook."""
    file = put(holdfast_project, OTHERS)
    run("install")
    file.write_bytes(file.read_bytes().replace(b'"opus"', b'"other"'))
    done = run("uninstall")
    assert done.stdout.startswith("Removed 25 hooks from ")
    assert "the rest is unchanged" in done.stdout
    assert file.read_bytes() == OTHERS.replace('"opus"', '"other"').encode()


def test_a_second_install_keeps_the_first_copy(holdfast_project: Project, run: Run) -> None:
    """Where the number of parts was changed in between, what was there before us still counts."""
    file = put(holdfast_project, OTHERS)
    run("install")
    toml = holdfast_project.home / ".config/holdfast/holdfast.toml"
    toml.parent.mkdir(parents=True)
    toml.write_text("parts = 3\n", encoding="utf-8")
    done = run("install")
    assert f"Brought 16 hooks up to date in {file}\n" in done.stdout
    assert file.read_text(encoding="utf-8").count("--part") == 3
    run("uninstall")
    assert file.read_bytes() == OTHERS.encode()


def test_hooks_that_were_there_by_hand_are_not_brought_back(
    holdfast_project: Project, run: Run
) -> None:
    """A copy of what was there before `install` may have had them."""
    by_hand = registration.text(registration.hooks(Program("/old/holdfast")))
    file = put(holdfast_project, by_hand.replace("{\n", '{\n  "model": "x",\n', 1))
    assert "Brought 25 hooks up to date" in run("install").stdout
    assert "/old/" not in file.read_text(encoding="utf-8")
    out = run("uninstall")
    assert "the rest is unchanged" in out.stdout
    assert file.read_bytes() == b'{\n  "model": "x"\n}\n'


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{\n  // mine\n  "model": "x"\n}', "line 2, column 3: a comment"),
        ('{"hooks": []}', '"hooks" is not an object'),
        ('{"hooks": {"Stop": {}}}', '"Stop" in "hooks" is not a list'),
        ('{"model": "\x1b[31m', "line 1, column 12: invalid control character"),
    ],
)
def test_what_is_not_plain_json_is_left_alone(
    content: str, reason: str, holdfast_project: Project, run: Run
) -> None:
    """With the reason, and with what to paste on stdout, ready for a file or a clipboard."""
    file = put(holdfast_project, content)
    before = everything(holdfast_project.home, holdfast_project.root)
    done = run("install")
    assert done.returncode == 1
    assert f"{file} was not changed" in done.stderr
    assert reason in done.stderr
    assert done.stdout == registration.text(registration.hooks(Program(str(SCRIPT))))
    out = run("uninstall")
    assert (out.returncode, out.stdout) == (1, "")
    assert reason in out.stderr
    assert everything(holdfast_project.home, holdfast_project.root) == before


def test_a_dry_run_shows_the_change_and_writes_nothing(holdfast_project: Project, run: Run) -> None:
    """No folder, no copy, no file; and the same for taking out."""
    put(holdfast_project, OTHERS, "project")
    before = everything(holdfast_project.home, holdfast_project.root)
    fresh = run("install", "--dry-run")
    assert fresh.returncode == 0
    assert f"{settings(holdfast_project)} would be changed:" in fresh.stdout
    assert '+    "PreCompact": [' in fresh.stdout
    merged = run("install", "--dry-run", "--scope", "project")
    assert '    "permissions": {"allow":["Bash(ls:*)"],   "deny":[]}' in merged.stdout.splitlines()
    assert everything(holdfast_project.home, holdfast_project.root) == before
    run("install")
    before = everything(holdfast_project.home, holdfast_project.root)
    out = run("uninstall", "--dry-run")
    assert f"{settings(holdfast_project)} would be removed:" in out.stdout
    assert '-    "PreCompact": [' in out.stdout
    assert everything(holdfast_project.home, holdfast_project.root) == before


def test_a_link_is_followed_and_stays_a_link(holdfast_project: Project, run: Run) -> None:
    """As people have it whose settings lie in a folder of dotfiles."""
    target = holdfast_project.write("dotfiles/claude.json", OTHERS)
    link = settings(holdfast_project)
    link.parent.mkdir()
    link.symlink_to(target)
    assert run("install").returncode == 0
    assert link.is_symlink()
    assert b"holdfast" in target.read_bytes()
    run("uninstall")
    assert link.is_symlink()
    assert target.read_bytes() == OTHERS.encode()


def test_nothing_tracked_by_git_is_changed_unasked(holdfast_project: Project, run: Run) -> None:
    """Also where a link leads into a checkout. Asked by --scope it is done, and said."""
    target = holdfast_project.write("dotfiles/claude.json", OTHERS)
    holdfast_project.git("init", "-q")
    holdfast_project.git("add", "dotfiles")
    link = settings(holdfast_project)
    link.parent.mkdir()
    link.symlink_to(target)
    for command in ("install", "uninstall"):
        done = run(command)
        assert done.returncode == 1
        assert f"{link} is tracked by git, so it needs an explicit --scope" in done.stderr
        assert "run the command with --scope user" in done.stderr
        dry = run(command, "--dry-run")
        assert (dry.returncode, dry.stderr) == (0, f"holdfast: {target} is tracked by git\n")
        asked = run(command, "--scope", "user")
        assert asked.returncode == 0
        assert asked.stderr == f"holdfast: {target} is tracked by git\n"
    assert target.read_bytes() == OTHERS.encode()


def test_local_settings_that_git_would_pick_up_are_named(
    holdfast_project: Project, run: Run
) -> None:
    """They are for one person alone."""
    assert run("install", "--scope", "local").stderr == ""
    holdfast_project.git("init", "-q")
    file = settings(holdfast_project, "local")
    warning = f"holdfast: git does not ignore {file}: "
    assert run("install", "--scope", "local").stderr.startswith(warning)
    holdfast_project.write(".gitignore", "*.local.json\n")
    assert run("install", "--scope", "local").stderr == ""


def test_project_settings_lie_where_sessions_start(holdfast_project: Project, run: Run) -> None:
    """At the top of the checkout, or where this session was started."""
    holdfast_project.git("init", "-q")
    inner = holdfast_project.root / "packages" / "one"
    (inner / "src").mkdir(parents=True)
    run("install", "--scope", "project", cwd=inner / "src")
    assert settings(holdfast_project, "project").is_file()
    run("install", "--scope", "project", cwd=inner / "src", CLAUDE_PROJECT_DIR=str(inner))
    assert (inner / ".claude/settings.json").is_file()


def test_the_whole_path_is_written_except_where_others_do_not_have_it(
    holdfast_project: Project, run: Run
) -> None:
    """In the project's settings the name, which has to be on the PATH."""
    for scope in ("user", "local"):
        told = run("install", "--scope", scope, PATH=os.defpath).stderr
        assert "do nothing" not in told
        assert "`holdfast` is not on the PATH: agents are told to run it" in told
        checked = run("doctor", PATH=os.defpath).stdout.split()  # said that nothing is wrong
        assert "note command `holdfast` is not on the PATH" in " ".join(checked)
        file = settings(holdfast_project, scope)
        assert file.read_text(encoding="utf-8") == registration.text(
            registration.hooks(Program(str(SCRIPT)))
        )
        run("uninstall", "--scope", scope)
    without = run("install", "--scope", "project", PATH=os.defpath)
    assert "`holdfast` is not on the PATH, and these hooks do nothing until it is" in without.stderr
    file = settings(holdfast_project, "project")
    assert file.read_text(encoding="utf-8") == registration.text(registration.hooks())
    assert run("install", "--scope", "project").stderr == ""


@pytest.mark.parametrize("path", ["", "/nonexistent"])
@pytest.mark.parametrize("scope", ["user", "project"])
def test_no_hook_fails_without_a_path(
    scope: str, path: str, holdfast_project: Project, run: Run
) -> None:
    """A client that was started without one would print an error for each."""
    run("install", "--scope", scope)
    hooks = json.loads(settings(holdfast_project, scope).read_bytes())["hooks"]
    entries = [each for groups in hooks.values() for group in groups for each in group["hooks"]]
    environment = {**holdfast_project.environment(), "PATH": path}
    for entry in entries:
        line = [entry["command"], *entry.get("args", ())]
        done = subprocess.run(
            line if "args" in entry else ["/bin/sh", "-c", *line],
            cwd=holdfast_project.root,
            env=environment,
            input="{}",
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), entry


@pytest.mark.parametrize(
    ("scope", "user", "project", "warned"),
    [
        ("user", PLUGIN, {}, True),
        ("user", {}, PLUGIN, True),
        ("project", PLUGIN, {}, True),
        ("project", PLUGIN, {"enabledPlugins": {"holdfast@holdfast": False}}, False),
        ("user", {"enabledPlugins": {"other@holdfast": True}}, {}, False),
    ],
)
def test_the_plugin_beside_the_settings_is_warned_of(
    scope: str, user: object, project: object, warned: bool, holdfast_project: Project, run: Run
) -> None:
    """With both, every hook runs twice."""
    put(holdfast_project, user)
    put(holdfast_project, project, "project")
    fix = f"holdfast uninstall --scope {scope}"
    for _ in range(2):  # also when there is nothing to do
        done = run("install", "--scope", scope)
        assert done.returncode == 0
        twice = f"the plugin holdfast@holdfast: every hook runs twice; to repair it: {fix}\n"
        assert done.stderr.endswith(twice) if warned else done.stderr == ""


def test_what_else_keeps_hooks_from_running_once_is_said(
    holdfast_project: Project, run: Run
) -> None:
    """Another registration, and what switches all hooks off."""
    run("install", "--scope", "local")
    assert run("install").stderr == ""  # the client runs equal hooks once
    run("uninstall", "--scope", "local")
    run("install", "--scope", "project")
    other = run("install").stderr
    assert "every hook runs twice; to repair it: holdfast uninstall --scope user" in other
    local = put(holdfast_project, {"disableAllHooks": True}, "local")
    off = run("install", HOLDFAST_DISABLE="1")
    assert f"{local} switches all hooks off" in off.stderr
    assert "HOLDFAST_DISABLE is set" in off.stderr
    toml = holdfast_project.home / ".config/holdfast/holdfast.toml"
    toml.parent.mkdir(parents=True)
    toml.write_text("enabled = false\n", encoding="utf-8")
    assert "switched off, because enabled = false is set" in run("install").stderr


def test_in_the_home_folder_user_and_project_are_one(holdfast_project: Project, run: Run) -> None:
    """One file, of which nobody is warned as of two."""
    assert run("install", cwd=holdfast_project.home).stderr == ""
    assert run("install", cwd=holdfast_project.home).stderr == ""


def test_uninstall_says_where_else_hooks_are(holdfast_project: Project, run: Run) -> None:
    """Instead of taking them from where nobody asked for it."""
    run("install", "--scope", "local")
    done = run("uninstall")
    file = settings(holdfast_project, "local")
    assert done.returncode == 0
    assert "Nothing to do: " in done.stdout
    assert "has no Holdfast hooks" in done.stdout
    assert done.stderr == (
        f"holdfast: {file} also has Holdfast hooks: holdfast uninstall --scope local\n"
    )
    assert file.exists()


def test_hooks_that_somebody_pasted_are_taken_out_too(holdfast_project: Project, run: Run) -> None:
    """Without a backup, beside the hooks of others."""
    put(
        holdfast_project,
        registration.text(registration.hooks()).replace("{\n", '{\n  "a": 1,\n', 1),
    )
    done = run("uninstall")
    assert "the rest is unchanged" in done.stdout
    assert settings(holdfast_project).read_bytes() == b'{\n  "a": 1\n}\n'


def test_settings_that_cannot_be_written_are_said(holdfast_project: Project, run: Run) -> None:
    """The folder of the settings is a file here."""
    (holdfast_project.home / ".claude").write_bytes(b"")
    done = run("install")
    assert done.returncode == 1
    assert "could not be written" in done.stderr
    assert "Traceback" not in done.stderr
