"""`holdfast doctor --agent` finds what keeps another agent from calling the hooks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from holdfast.agents.clients import CLIENTS, Client
from holdfast.config.project import Surroundings
from holdfast.setup import registration
from holdfast.setup.doctor import Finding, registered
from holdfast.setup.registration import Program
from holdfast.testing import Project


class Agent(NamedTuple):
    """Another agent's settings, with hooks of ours that answer, until a test plants a fault."""

    client: Client
    here: Surroundings
    file: Path
    program: Program

    def register(self, change: Callable[[dict[str, Any]], object] | None = None) -> None:
        hooks = registration.hooks(self.program, client=self.client)
        if change:
            change(hooks)
        self.file.write_text(json.dumps({"hooks": hooks}), encoding="utf-8")

    def found(self, level: str = "wrong") -> list[Finding]:
        found = registered.examine(self.here, self.client)
        return [each for each in found if each.level == level]

    def only(self, level: str = "wrong") -> Finding:
        (found,) = self.found(level)
        assert found.cause
        assert found.fix
        return found


# What each of them wants to be told after a compaction, if that is all that a hook has to say.
ANSWER = """#!/bin/sh
cat > /dev/null
echo '{"additionalContext": "Checkup"}'
"""


@pytest.fixture
def agent(request: pytest.FixtureRequest, holdfast_project: Project, tmp_path: Path) -> Agent:
    client = CLIENTS[request.param]
    environment = holdfast_project.environment()
    here = Surroundings.from_environment(environment)._replace(cwd=str(holdfast_project.root))
    folder = Path(here.agent_dirs[client.name])
    file = folder / client.files["user"]
    file.parent.mkdir(parents=True)
    program = tmp_path / "answering" / "holdfast"
    program.parent.mkdir()
    program.write_text(ANSWER, encoding="utf-8")
    program.chmod(0o755)
    whole = Agent(client, here, file, Program(str(program)))
    whole.register()
    if client.trust:
        trust(whole)
    return whole


def trust(agent: Agent, **more: object) -> None:
    """As Codex notes it."""
    states = {}
    for event, groups in json.loads(agent.file.read_bytes())["hooks"].items():
        name = {"PreCompact": "pre_compact", "SessionStart": "session_start"}.get(event)
        for number, group in enumerate(groups):
            for place in range(len(group["hooks"])):
                key = f"{agent.file}:{name or 'post_compact'}:{number}:{place}"
                states[key] = {"trusted_hash": "sha256:0", **more}
    lines = [
        f"[hooks.state.{json.dumps(key)}]\n"
        + "".join(f"{name} = {json.dumps(value)}\n" for name, value in state.items())
        for key, state in states.items()
    ]
    (agent.file.parent / "config.toml").write_text("\n".join(lines), encoding="utf-8")


SETTINGS = [name for name, client in CLIENTS.items() if client.said and not client.is_bridge]
EACH = pytest.mark.parametrize("agent", SETTINGS, indirect=True)


def of(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("agent", names, indirect=True)


@EACH
def test_nothing_is_wrong_with_an_agent(agent: Agent) -> None:
    """A save and a restore of its own were given to its own hook."""
    assert agent.found() == []
    (tried,) = [each.what for each in agent.found("good") if each.check == "command"]
    assert f"hook --agent {agent.client.name}` saves and restores, in " in tried


@EACH
def test_not_registered_with_an_agent(agent: Agent) -> None:
    """The first command that a newcomer forgets."""
    agent.file.write_text('{"hooks": {}}', encoding="utf-8")
    (found,) = [each for each in agent.found() if each.check == "hooks"]
    assert found.what == f"no settings register Holdfast with {agent.client.title}"
    assert found.fix == f"holdfast install --agent {agent.client.name}"


@EACH
def test_an_old_entry_of_an_agent(agent: Agent) -> None:
    """Its path is gone."""
    Path(agent.program.command).unlink()
    found = agent.only()
    assert found.what == f"{agent.program.command} is not there"
    assert found.fix == f"holdfast install --agent {agent.client.name}"


@pytest.mark.parametrize(
    ("agent", "change", "cause"),
    [
        (
            "gemini",
            lambda hooks: hooks["SessionStart"][0].update(matcher="startup|resume|clear"),
            "SessionStart",
        ),
        (
            "gemini",
            lambda hooks: hooks["BeforeAgent"][0]["hooks"][0].update(timeout=30),
            "BeforeAgent",
        ),
        ("copilot", lambda hooks: hooks.pop("UserPromptSubmit"), "UserPromptSubmit"),
        (
            "codex",
            lambda hooks: hooks["SessionStart"][1]["hooks"].pop(),
            "SessionStart --part 12",
        ),
        (
            "qwen",
            lambda hooks: hooks["PreCompact"][0]["hooks"][0].update(
                command="holdfast", args=["hook", "--agent", "qwen"]
            ),
            "PreCompact",
        ),
        (
            "codex",
            lambda hooks: hooks["PreCompact"][0]["hooks"][0].update(
                command="holdfast hook --agent copilot"
            ),
            "PreCompact",
        ),
    ],
    indirect=["agent"],
)
def test_what_keeps_the_hooks_of_an_agent_from_running(
    agent: Agent, change: Callable[[dict[str, Any]], object], cause: str
) -> None:
    """Matchers that never match, milliseconds, arguments for who takes a line alone. `install` puts it right."""
    agent.register(change)
    found = [each for each in agent.found() if each.what.startswith("not everything")]
    assert [(each.cause, each.fix) for each in found] == [
        (cause, f"holdfast install --agent {agent.client.name}")
    ]


@of("codex", "qwen", "copilot")
def test_the_plugin_of_an_agent_and_its_file(agent: Agent) -> None:
    """Both run, and the plugin's hooks are no part of the file."""
    folder = Path(agent.here.agent_dirs[agent.client.name])
    if agent.client.plugins_in.endswith(".toml"):
        with (folder / agent.client.plugins_in).open("a", encoding="utf-8") as notes:
            notes.write('\n[plugins."holdfast@holdfast"]\nenabled = true\n')
    elif agent.client.plugins_in.endswith(".json"):
        enabled = {"enabledPlugins": {"holdfast@holdfast": True}}
        (folder / agent.client.plugins_in).write_text(json.dumps(enabled), encoding="utf-8")
    else:
        (folder / agent.client.plugins_in).mkdir(parents=True)
    twice = [each for each in agent.found() if each.what.startswith("registered twice")]
    assert [each.cause for each in twice] == ["every hook runs twice"]


@of("codex")
def test_hooks_that_codex_was_not_told_to_trust(agent: Agent) -> None:
    """It says nothing of that itself. What is for the person to do is told, and not done."""
    notes = agent.file.parent / "config.toml"
    assert "was told to trust 15 hooks" in str(agent.found("good"))
    trust(agent, enabled=False)
    assert agent.only().what.startswith("15 of 15 hooks of the user settings")
    assert agent.only().what.endswith("switched off in Codex")
    notes.write_text("model = 'x'\n", encoding="utf-8")
    found = agent.only()
    assert found.what.startswith("15 of 15 hooks of the user settings")
    assert found.what.endswith("not trusted in Codex")
    assert found.fix.startswith("open /hooks in Codex and trust them")
    assert notes.read_text(encoding="utf-8") == "model = 'x'\n"
    notes.unlink()
    assert agent.only().check == "trust"


@of("codex")
def test_the_plugins_hooks_that_codex_was_not_told_to_trust(agent: Agent) -> None:
    """It notes them under the plugin's name; events that it does not know are not asked for."""
    agent.file.unlink()
    notes = agent.file.parent / "config.toml"
    enabled = '[plugins."holdfast@holdfast"]\nenabled = true\n'
    notes.write_text(enabled, encoding="utf-8")
    what = "21 of 21 hooks of the plugin holdfast@holdfast not trusted in Codex"
    assert [each.what for each in agent.found() if each.check == "trust"] == [what]
    keys = [f"session_start:1:{part}" for part in range(12)]
    keys += [f"{event}:0:0" for event in ("pre_compact", "post_compact", "session_start")]
    keys += [f"{event}:0:0" for event in ("pre_tool_use", "subagent_start", "subagent_stop")]
    keys += ["post_tool_use:0:0", "post_tool_use:1:0", "pre_compact:1:0"]
    tables = [
        f'[hooks.state."holdfast@holdfast:hooks/hooks.json:{key}"]\ntrusted_hash = "sha256:0"\n'
        for key in keys
    ]
    notes.write_text(enabled + "".join(tables), encoding="utf-8")
    assert [each for each in agent.found() if each.check == "trust"] == []


@of("codex")
def test_a_file_that_codex_refuses(agent: Agent) -> None:
    """For one member that it does not know."""
    value = json.loads(agent.file.read_bytes())
    agent.file.write_text(json.dumps({**value, "$schema": "x"}), encoding="utf-8")
    assert agent.only().cause == 'Codex refuses the whole file for its "$schema"'


@of("gemini", "qwen")
def test_settings_with_comments_are_not_called_wrong(agent: Agent) -> None:
    """These agents read them, and we do not."""
    text = agent.file.read_text(encoding="utf-8")
    agent.file.write_text("// mine\n" + text, encoding="utf-8")
    assert agent.found() == []
    assert agent.only("note").what.endswith("so what it registers is not known")


@of("codex", "copilot", "gemini")
def test_a_program_that_answers_something_else(agent: Agent) -> None:
    """Or fails, or brings nothing back."""
    program = Path(agent.program.command)
    for says, words in (
        ("echo Welcome", "it said 'Welcome"),
        ("echo oh dear >&2; exit 3", "exit code 3: oh dear"),
        (":", "it said nothing"),
    ):
        program.write_text(f"#!/bin/sh\n{says}\n", encoding="utf-8")
        assert words in agent.only().cause


def test_the_plugin_for_opencode(holdfast_project: Project, tmp_path: Path) -> None:
    """There, of this release, and with a program that is there; else `install` puts it right."""
    client = CLIENTS["opencode"]
    environment = holdfast_project.environment()
    here = Surroundings.from_environment(environment)._replace(cwd=str(holdfast_project.root))
    file = Path(here.agent_dirs["opencode"]) / client.files["user"]
    file.parent.mkdir(parents=True)

    def causes() -> list[str]:
        found = list(registered.examine(here, client))
        return [each.what + ": " + each.cause for each in found if each.level == "wrong"]

    gone = Program(str(tmp_path / "gone" / "holdfast"))
    file.write_text(
        registration.text(registration.hooks(gone, client=client), client), encoding="utf-8"
    )
    assert [each.split(":")[0] for each in causes()] == [f"{gone.command} is not there"]
    text = registration.text(registration.hooks(gone, client=client), client).replace(
        "opencode goes on", "all goes on", 1
    )
    file.write_text(text, encoding="utf-8")
    assert (
        f"{file} is not the plugin of this release: it is older, or was changed since" in causes()
    )
    file.write_text("export const Mine = 1\n", encoding="utf-8")
    assert f"{file} is not as opencode takes it: it is not a plugin of Holdfast" in causes()
