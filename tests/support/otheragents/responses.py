"""OpenAI's Responses API, as Codex uses it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from otheragents.service import Request, Service, Turn, as_json, as_stream
from realclient.standin import Text, Tool

# How Codex begins the words with which it asks for a summary.
SUMMARY_PROMPT = "You are performing a CONTEXT CHECKPOINT COMPACTION"


class ResponsesRequest(Request):
    @property
    def turns(self) -> list[Turn]:
        return [Turn("system", self.body.get("instructions") or ""), *self._items()]

    def _items(self) -> Iterator[Turn]:
        for item in self.body.get("input", []):
            if item.get("type", "message") == "message":
                yield Turn(item["role"], _text(item["content"]))
            elif item["type"].endswith("_output"):
                yield Turn("tool", _text(item["output"]))

    @property
    def is_summary(self) -> bool:
        return self.last_user_text.startswith(SUMMARY_PROMPT)


class Responses(Service):
    asked = ResponsesRequest

    def serve(self, path: str, raw: bytes) -> tuple[bytes, str] | None:
        if path != "/v1/responses":
            return None
        request = self.recorded(json.loads(raw), len(raw))
        reply = self.reply_to(request)
        items = [self._item(block) for block in reply.blocks]
        read, written = self.usage(request)
        response = {
            "id": self.identity("resp"),
            "object": "response",
            "status": "completed",
            "output": items,
            "usage": {
                "input_tokens": read,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": written,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": read + written,
            },
        }
        if not request.body.get("stream"):
            return as_json(response)
        return as_stream(
            {"type": "response.created", "response": {"id": response["id"]}},
            *({"type": "response.output_item.done", "item": item} for item in items),
            {"type": "response.completed", "response": response},
        )

    def _item(self, block: Text | Tool) -> dict[str, Any]:
        if isinstance(block, Text):
            content = [{"type": "output_text", "text": block.text, "annotations": []}]
            identity = self.identity("msg")
            return {"type": "message", "id": identity, "role": "assistant", "content": content}
        identity = self.identity("call")
        return {
            "type": "function_call",
            "id": f"fc_{identity}",
            "call_id": identity,
            "name": block.name,
            "arguments": json.dumps(block.input),
        }


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(each.get("text", "") for each in content)
