"""What Codex notes of the hooks that `holdfast install` registers, and what the doctor reads of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from holdfast.agents.clients import CLIENTS
from holdfast.setup import registration
from otheragents.codex import Codex
from otheragents.jsonrpc import Peer
from otheragents.place import Place
from plugin import copy_files

pytestmark = pytest.mark.needs("npm")


def listed(place: Place, trust: bool = False) -> list[dict[str, Any]]:
    """The hooks as `/hooks` shows them; with *trust*, after all of them were trusted there."""
    env = place.machine(CODEX_HOME=str(place.home / ".codex"))
    with Peer(place.entered([*place.command, "app-server"]), place.project, env) as peer:
        peer.ask("initialize", clientInfo={"name": "test", "version": "0"})
        peer.tell("initialized")

        def hooks() -> list[dict[str, Any]]:
            found = peer.ask("hooks/list", cwds=[str(place.project)])["data"]
            assert [each["warnings"] for each in found] == [[]]
            return [hook for each in found for hook in each["hooks"]]

        if trust:
            states = {each["key"]: {"trusted_hash": each["currentHash"]} for each in hooks()}
            edit = {"keyPath": "hooks.state", "value": states, "mergeStrategy": "upsert"}
            peer.ask("config/batchWrite", edits=[edit])
        return hooks()


def told(place: Place) -> list[dict[str, Any]]:
    """What the doctor says of trust."""
    report = json.loads(place.holdfast("doctor", "--agent", "codex", "--json"))
    return [each for each in report["findings"] if each["check"] == "trust"]


def test_the_doctor_reads_of_the_plugin_what_codex_runs_of_it(
    placed: Callable[[type[Place]], Place],
) -> None:
    """Its tree is made for Claude Code, and has events that Codex does not know."""
    place = placed(Codex)
    root = copy_files(place.log.parent / "the plugin")
    with place.service(tokens=lambda _: 5_000) as stand_in:
        place.run(stand_in, "plugin", "marketplace", "add", str(root))
        place.run(stand_in, "plugin", "add", "holdfast@holdfast")
    count = len(listed(place))
    assert [each["what"] for each in told(place)] == [
        f"{count} of {count} hooks of the plugin holdfast@holdfast not trusted in Codex"
    ]
    assert {each["trustStatus"] for each in listed(place, trust=True)} == {"trusted"}
    assert [each["what"] for each in told(place)] == [
        f"Codex was told to trust {count} hooks of the plugin holdfast@holdfast"
    ]


def test_the_doctor_reads_what_codex_notes(placed: Callable[[type[Place]], Place]) -> None:
    """Nothing is trusted by `install`; once a person has, it is told, and the doctor changes nothing."""
    place = placed(Codex)
    place.install()
    wanted = registration.hooks(client=CLIENTS["codex"])
    count = sum(len(group["hooks"]) for groups in wanted.values() for group in groups)
    assert [each["trustStatus"] for each in listed(place)] == ["untrusted"] * count
    (before,) = told(place)
    assert (before["level"], "not trusted in Codex" in before["what"]) == (
        "wrong",
        True,
    )
    assert [each["trustStatus"] for each in listed(place, trust=True)] == ["trusted"] * count
    notes = place.home / ".codex" / "config.toml"
    noted = notes.read_bytes()
    (after,) = told(place)
    assert (after["level"], f"told to trust {count} hooks" in after["what"]) == ("good", True)
    assert notes.read_bytes() == noted
