"""The repository keeps its own promises: settings, docs and layout agree with the code."""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import tomllib
from pathlib import Path

import click
import pytest
import yaml

from holdfast import __version__
from holdfast.agents import NAMES, clients
from holdfast.agents.clients import CLIENTS
from holdfast.agents.events import NOTED
from holdfast.cli.main import cli
from holdfast.config.capabilities import SENT_AT
from holdfast.config.project import AGENT_VARIABLES
from holdfast.config.settings import RESTORE, Settings
from holdfast.formats import registry, signs
from holdfast.formats.canonical import files
from holdfast.formats.gated import files as gated_files
from holdfast.formats.orchestrator import files as orchestrator_files
from holdfast.formats.pipeline import files as pipeline_files
from holdfast.formats.skill import files as skill_files
from holdfast.handlers import HANDLERS, observed
from holdfast.setup import registration

ROOT = Path(__file__).parents[1]


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_readme_opens_with_the_two_commands() -> None:
    """What a newcomer runs first."""
    block = text("README.md").split("```")[1]
    commands = [line.split("#")[0].strip() for line in block.splitlines()[1:]]
    assert [command for command in commands if command] == ["make demo", "make test"]


def test_ci_runs_the_documented_targets() -> None:
    """The same that a contributor runs."""
    script = text(".ci/run")
    assert "make check" in script
    assert "make test" in script


def test_the_hosted_ci_runs_the_same() -> None:
    """Linux as a whole, and elsewhere the same targets, as far as there is a make."""
    workflow = yaml.safe_load(text(".github/workflows/ci.yml"))
    jobs = workflow["jobs"]
    runs = {
        name: [step["run"] for step in job["steps"] if "run" in step] for name, job in jobs.items()
    }
    assert runs["linux"] == [".ci/run"]
    targets = set(re.findall(r"^make ([\w-]+)", text(".ci/run"), re.MULTILINE))
    assert targets == {"check", "test", "test-clients", "torture"}
    assert {line.split()[1] for line in runs["macos"]} == {"check", "test"}
    assert all(line.startswith("python -m ") for line in runs["windows"])
    assert [name for name, job in jobs.items() if job.get("continue-on-error")] == [
        "macos",
        "windows",
    ]
    lowest = tomllib.loads(text("pyproject.toml"))["project"]["requires-python"]
    assert jobs["linux"]["strategy"]["matrix"]["python"][0] == lowest.removeprefix(">=")
    used = [step["uses"] for job in jobs.values() for step in job["steps"] if "uses" in step]
    assert all(re.fullmatch(r"actions/[\w-]+@v\d+", each) for each in used)


def test_the_settings_example_is_what_the_code_registers() -> None:
    """Every event that has a handler, and nothing that we do not answer."""
    assert text("settings.example.json") == registration.text(registration.hooks())
    assert text("hooks/hooks.json") == registration.text(registration.hooks(registration.PLUGIN))
    assert set(registration.hooks()) == set(HANDLERS)
    for name in HANDLERS.values():
        assert (ROOT / "handlers" / f"{name}.py").exists()


def test_every_agent_is_known_everywhere() -> None:
    """To the door, to `install`, and with what it gave to hooks."""
    assert tuple(CLIENTS) == NAMES
    assert tuple(AGENT_VARIABLES) == NAMES
    for name, client in CLIENTS.items():
        theirs = {
            clients.payload(each, ".", name)["hook_event_name"]
            for each in clients.payload_names(name)
        }
        assert client.is_bridge or theirs == {row.event for row in client.rows}
        assert (ROOT / "docs" / "agents" / f"{name}.md").exists()


def test_every_tool_that_is_noted_has_what_notes_it() -> None:
    """A tool that is only registered, or only noted, is silently passed over."""
    assert set(observed._NOTED) == set(NOTED)


def test_the_plugin_has_the_packages_version() -> None:
    """One release, one number."""
    plugin = json.loads(text(".claude-plugin/plugin.json"))
    project = tomllib.loads(text("pyproject.toml"))["project"]
    assert (plugin["name"], plugin["version"]) == (project["name"], __version__)
    assert "version" in project["dynamic"]
    assert f"\nversion={__version__}\n" in text("bin/holdfast")
    assert importlib.metadata.version("holdfast") == __version__


def test_as_many_parts_are_registered_as_are_sent_by_default() -> None:
    """Each with arguments of its own, or the client would merge them into one run."""
    hooks = json.loads(text("settings.example.json"))["hooks"]["SessionStart"]
    started = [hook["command"].partition("exec ")[2] for entry in hooks for hook in entry["hooks"]]
    parts = [f"holdfast hook --part {number}" for number in range(1, Settings().parts + 1)]
    assert started == ["holdfast hook", *parts]
    assert [set(entry.get("matcher", "").split("|")) for entry in hooks] == [{""}, SENT_AT]


def test_the_settings_table_lists_every_key_with_its_default() -> None:
    """README and code agree."""
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+?) \|", text("README.md"), re.MULTILINE))
    assert set(rows) == set(Settings._fields)
    defaults = Settings()
    for key in set(rows) - {"restore", "plans"}:
        (value,) = tomllib.loads(f"value = {rows[key].strip('`')}").values()
        default = getattr(defaults, key)
        assert value == (list(default) if isinstance(default, tuple) else default)
    assert all(plan in text("docs/formats/canonical.md") for plan in defaults.plans)
    example = text("README.md").split("```toml\n")[1].split("```")[0]
    assert tomllib.loads(example) == {"restore": dict(RESTORE)}


def test_every_command_is_in_the_readme() -> None:
    """Each has at least its name there."""
    readme = text("README.md")
    for name in cli.list_commands(click.Context(cli)):
        assert re.search(rf"\b{name}\b", readme), name


def test_every_command_and_option_has_help() -> None:
    """No empty line in --help."""

    def walk(command: click.Command, name: str) -> None:
        assert command.help, name
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, f"{name} {parameter.name}"
        if isinstance(command, click.Group):
            context = click.Context(command)
            for key in command.list_commands(context):
                inner = command.get_command(context, key)
                assert inner, key
                walk(inner, f"{name} {key}")

    walk(cli, "holdfast")


def test_each_command_is_where_it_is_loaded_from() -> None:
    """And none is in two."""
    context = click.Context(cli)
    assert [name for name in cli.list_commands(context) if not cli.get_command(context, name)] == []
    every = cli.list_commands(click.Context(cli))
    assert len(every) == len(set(every))


def test_the_signs_name_every_format_and_where_it_lies() -> None:
    """A format without a sign would silently be switched off."""
    assert set(signs.SIGNS) == {each.name for each in registry.every()}
    assert set(signs.STATE_FILES) == set(signs.SIGNS)
    assert set(signs.SIGNS["canonical"]) == {files.FOLDER, files.LOCAL}
    assert set(signs.SIGNS["skill"]) == {skill_files.FOLDER}
    assert set(signs.SIGNS["gated"]) == {gated_files.FOLDER}
    assert set(signs.SIGNS["orchestrator"]) == {orchestrator_files.STATE}
    assert set(signs.SIGNS["pipeline"]) == {pipeline_files.GLOBAL.states, pipeline_files.SESSIONS}


@pytest.mark.parametrize(
    "name",
    [
        *("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "AGENTS.md"),
        *(path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").rglob("*.md"))),
    ],
)
def test_links_and_paths_in_the_docs_lead_somewhere(name: str) -> None:
    """Relative links, and source files that are named."""
    folder = (ROOT / name).parent
    for target in re.findall(r"\]\(([^)#:]+)\)", text(name)):
        assert (folder / target).exists(), target
    for path in re.findall(
        r"`((?:src|hooks|handlers|tests|docs|bench)/[\w/.]+\.(?:py|md|json|toml))`", text(name)
    ):
        assert (ROOT / path).exists(), path


def test_what_agents_load_is_short() -> None:
    """It is loaded in every session; by Claude Code under its own name."""
    assert len(text("AGENTS.md").splitlines()) < 80
    # As a file, CLAUDE.md would make the client warn that a plugin cannot ship one.
    assert (ROOT / "CLAUDE.md").readlink() == Path("AGENTS.md")


def test_no_module_is_missing_from_the_wheel() -> None:
    """Packages are listed by hand."""
    listed = set(tomllib.loads(text("pyproject.toml"))["tool"]["setuptools"]["packages"])
    found = {"holdfast.hooks", "holdfast.handlers", "holdfast.skills"}
    for path in (ROOT / "src" / "holdfast").rglob("__init__.py"):
        found.add(".".join(path.parent.relative_to(ROOT / "src").parts))
    assert listed == found


def test_every_module_says_why_it_exists() -> None:
    """A docstring on top, everywhere."""
    for folder in ("src", "hooks", "handlers", "tests", "bench"):
        for path in (ROOT / folder).rglob("*.py"):
            assert path.read_text(encoding="utf-8").startswith('"""'), path


def test_nothing_that_tests_leave_behind_is_tracked() -> None:
    """The ignore file covers what make makes."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert not [name for name in tracked if name.startswith((".venv", "build/", ".cache"))]
