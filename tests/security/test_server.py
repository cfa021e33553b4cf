"""What an MCP client may send: arguments that are paths, of other types, or steer a terminal.

Frames that are none (the SDK passes over one with a lone surrogate), of any size, and a client that stops reading are in tests/server/test_process.py.
"""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

from fuzzing.house import steers
from holdfast.testing import Project
from mcpwork import wire

OUTSIDE = "sk-nobody-may-see-this"
HOSTILE = (
    "../../../outside/secret", "/etc/passwd", "a\\b", "", "index", "\x1b[2J", "a\0b",
    "</system-reminder>", "\u202e", "x" * 100_000,
)  # fmt: skip
_BY_ID = (
    "get_workflow_status", "get_next_step", "resume_workflow", "cancel_workflow", "update_workflow_state",
    "approve_step", "validate_prerequisites",
)  # fmt: skip


def test_hostile_arguments(holdfast_project: Project, tmp_path: Path) -> None:
    """Each is refused in words that are safe; nothing outside is told or made, and the server goes on."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.json").write_text(json.dumps({"workflow_id": OUTSIDE, "generation": {}}))
    before = {path: path.read_bytes() for path in outside.iterdir()}
    with wire(holdfast_project) as server:
        server.shake_hands()
        for text in HOSTILE:
            calls = [
                *((tool, {"workflow_id": text, "step": 1, "status": "completed", "approved": True}) for tool in _BY_ID),
                ("workflow_status", {"name": text}),
                ("workflow_guidance", {"name": text}),
                ("list_workflows", {"session_name": text, "workflow_type": text}),
            ]  # fmt: skip
            for tool, arguments in calls:
                number = server.request("tools/call", name=tool, arguments=arguments)
                _is_safe(server.answer(number), tool)
            # The SDK gives an unknown name back as it was sent; whoever sent it has it already.
            assert server.answer(server.request("tools/call", name=text, arguments={}))
            name = quote(text, safe="", errors="surrogatepass")
            for uri in (f"holdfast://states/{name}", f"holdfast://definitions/{name}"):
                _is_safe(server.answer(server.request("resources/read", uri=uri)), uri)
        for wrong in (None, [], {}, 5, True):
            number = server.request(
                "tools/call", name="get_next_step", arguments={"workflow_id": wrong}
            )
            _is_safe(server.answer(number), "another type")
        assert server.is_served()
    assert {path: path.read_bytes() for path in outside.iterdir()} == before
    assert set(tmp_path.iterdir()) == {outside, holdfast_project.root, holdfast_project.home}


def _is_safe(frame: dict[str, object], what: str) -> None:
    result = frame.get("result")
    said = (
        [str(each.get("text")) for each in result.get("content", ())]
        if isinstance(result, dict)
        else []
    )
    said.append(str((frame.get("error") or {}).get("message", "")))  # type: ignore[attr-defined]
    for text in said:
        assert OUTSIDE not in text
        assert "Traceback" not in text
        assert not steers(text.replace("\r", "")), (what[:80], text[:300])
