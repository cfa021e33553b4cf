"""The client's settings files: where they lie, what stands in them, and why that cannot be told."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from holdfast.agents.clients import CLIENTS, Scope
from holdfast.config.project import Surroundings
from holdfast.errors import HoldfastError, IllegalMove
from holdfast.setup import clientsettings
from holdfast.setup.clientsettings import Scopes


def scopes(agent: str, tmp_path: Path, **environ: str) -> Scopes:
    here = Surroundings.from_environment({"HOME": "/h", **environ})
    here = here._replace(cwd=str(tmp_path))
    return clientsettings.look(here, CLIENTS[agent])


def test_each_scope_has_its_file(tmp_path: Path) -> None:
    """The user's folder is the client's own, wherever it was moved to."""

    def paths(**environ: str) -> list[str]:
        return [file.path for file in scopes("claude", tmp_path, **environ).files.values()]

    ours = [f"{tmp_path}/.claude/settings.json", f"{tmp_path}/.claude/settings.local.json"]
    assert paths() == ["/h/.claude/settings.json", *ours]
    assert paths(CLAUDE_CONFIG_DIR="/elsewhere") == ["/elsewhere/settings.json", *ours]
    relative = os.path.join(os.getcwd(), "cfg", "settings.json")
    assert paths(CLAUDE_CONFIG_DIR="cfg") == [relative, *ours]
    here = Surroundings.from_environment({})._replace(cwd=str(tmp_path), agent_dirs={})
    homeless = clientsettings.look(here)
    assert list(homeless.files) == ["project", "local"]
    with pytest.raises(HoldfastError, match="no home folder") as error:
        homeless.file("user")
    assert "CLAUDE_CONFIG_DIR" in (error.value.hint or "")


@pytest.mark.parametrize(
    ("agent", "file", "variable", "moved"),
    [
        ("codex", "/h/.codex/hooks.json", "CODEX_HOME", "/m/hooks.json"),
        ("qwen", "/h/.qwen/settings.json", "QWEN_HOME", "/m/settings.json"),
        ("copilot", "/h/.copilot/hooks/holdfast.json", "COPILOT_HOME", "/m/hooks/holdfast.json"),
        ("gemini", "/h/.gemini/settings.json", "GEMINI_CLI_HOME", "/m/.gemini/settings.json"),
        (
            "opencode",
            "/h/.config/opencode/plugins/holdfast.js",
            "XDG_CONFIG_HOME",
            "/m/opencode/plugins/holdfast.js",
        ),
    ],
)
def test_each_agent_has_its_file(
    agent: str, file: str, variable: str, moved: str, tmp_path: Path
) -> None:
    """Where its own variable leads, as it was seen to; and in no scope that was not tested."""
    found = scopes(agent, tmp_path)
    assert found.file("user").path == file
    assert scopes(agent, tmp_path, **{variable: "/m"}).file("user").path == moved
    untried: tuple[Scope, ...] = ("project", "local")
    for scope in untried:
        with pytest.raises(IllegalMove, match=f"not tested with {CLIENTS[agent].title}'s hooks"):
            found.file(scope)


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b'{\n  // mine\n  "a": 1}', "line 2, column 3: a comment, which JSON does not have"),
        (b'{"a": 1 /* x */}', "line 1, column 9: a comment, which JSON does not have"),
        (b'{"a": [1,]}', "a comma with nothing behind it"),
        (b'{"a": 1,\n}', "a comma with nothing behind it"),
        (b'{"a" 1}', "line 1, column 6: expecting ':' delimiter"),
        (b"", "line 1, column 1: expecting value"),
        (b" \n", "line 2, column 1: expecting value"),
        (b"[]", "no object in braces, but []"),
        (b'{"a": NaN}', "NaN is not JSON"),
        (b'{"a": "\xff"}', "not UTF-8 text, from byte 8 on"),
        ("{}".encode("utf-16"), "not UTF-8 text, from byte 1 on"),
        (b'{"hooks": {},\n "hooks": {}}', 'line 2, column 2: a second "hooks"'),
        (b'{"a":' * 100 + b"1" + b"}" * 100, "nested deeper than 64 levels"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a": ' + b"1" * 5000 + b"}", "digits"),
    ],
)
def test_what_is_not_plain_json_says_where_and_why(
    raw: bytes, problem: str, tmp_path: Path
) -> None:
    """The client would silently take it for empty, or choose one of two."""
    file = tmp_path / "settings.json"
    file.write_bytes(raw)
    found = clientsettings.read(str(file))
    assert problem in found.problem
    assert (found.exists, found.raw, found.value) == (True, raw, {})


@pytest.mark.parametrize("raw", [b'\xef\xbb\xbf{"a": 1}', b'{\r\n"a": 1}\r\n', b'{"a":1}'])
def test_what_the_client_reads_is_read(raw: bytes, tmp_path: Path) -> None:
    """With a byte order mark and with the line ends of Windows."""
    file = tmp_path / "settings.json"
    file.write_bytes(raw)
    found = clientsettings.read(str(file))
    assert (found.value, found.problem, found.text.encode()) == ({"a": 1}, "", raw)


def test_what_is_no_file_is_a_problem_and_what_is_missing_is_none(tmp_path: Path) -> None:
    """A link that leads nowhere is a file that is still to be made."""
    missing = clientsettings.read(str(tmp_path / "none" / "settings.json"))
    assert (missing.exists, missing.problem, missing.value) == (False, "", {})
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "dotfiles.json")
    assert not clientsettings.read(str(link)).exists
    loop = tmp_path / "loop.json"
    loop.symlink_to(loop)
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    large = tmp_path / "large.json"
    large.write_bytes(b" " * (clientsettings.LARGEST + 1))
    for path in (loop, pipe, large, tmp_path):
        found = clientsettings.read(str(path))
        assert found.exists, path
        assert found.problem, path


def plugins(found: Scopes) -> list[tuple[Scope, str]]:
    return [(source.scope, source.plugin) for source in found.sources() if source.plugin]


def test_a_plugin_counts_where_the_last_settings_enable_it(tmp_path: Path) -> None:
    """As the client has it: `plugin disable` in a project goes over the user's settings."""

    def enabled(*values: object) -> list[tuple[Scope, str]]:
        found = scopes("claude", tmp_path)
        for file, value in zip(found.files.values(), values, strict=False):
            found = found.after(file.holding(json.dumps(value).encode()))
        return plugins(found)

    on = {"enabledPlugins": {"holdfast@holdfast": True, "other@holdfast": True}}
    off = {"enabledPlugins": {"holdfast@holdfast": False}}
    assert enabled(on) == [("user", "holdfast@holdfast")]
    assert enabled(on, {}, off) == []
    assert enabled(off, on) == [("project", "holdfast@holdfast")]
    for odd in ({}, {"enabledPlugins": []}, {"enabledPlugins": {"holdfast@x": "yes"}}):
        assert enabled(odd) == []


@pytest.mark.parametrize(
    ("agent", "path", "content", "names"),
    [
        ("codex", "config.toml", '[plugins."holdfast@a"]\nenabled = true\n', ["holdfast@a"]),
        ("codex", "config.toml", '[plugins."holdfast@a"]\nenabled = false\n', []),
        ("codex", "config.toml", '[plugins."other@a"]\nenabled = true\n', []),
        ("codex", "config.toml", "plugins = 5\n", []),
        ("codex", "config.toml", "not TOML", []),
        ("copilot", "settings.json", '{"enabledPlugins": {"holdfast@a": true}}', ["holdfast@a"]),
        ("copilot", "settings.json", '{"enabledPlugins": {"holdfast@a": false}}', []),
        ("qwen", "extensions/holdfast/qwen-extension.json", "{}", ["holdfast"]),
        ("qwen", "extensions/other/qwen-extension.json", "{}", []),
        ("gemini", "settings.json", "{}", []),
    ],
)
def test_the_plugin_of_another_agent(
    agent: str, path: str, content: str, names: list[str], tmp_path: Path
) -> None:
    """As each of them was seen to note it."""
    file = tmp_path / f".{agent}" / path
    file.parent.mkdir(parents=True)
    file.write_text(content, encoding="utf-8")
    assert [name for _, name in plugins(scopes(agent, tmp_path, HOME=str(tmp_path)))] == names
