"""OpenAI's chat completions, as Qwen Code and Copilot use them."""

from __future__ import annotations

import json
from typing import Any

from otheragents.service import Request, Service, Turn, as_json, as_stream
from realclient.standin import Text, Tool


class ChatRequest(Request):
    @property
    def turns(self) -> list[Turn]:
        return [Turn(each["role"], _text(each.get("content"))) for each in self.messages]

    @property
    def tools(self) -> list[str]:
        return [tool["function"]["name"] for tool in self.body.get("tools", [])]


class Chat(Service):
    asked = ChatRequest

    def serve(self, path: str, raw: bytes) -> tuple[bytes, str] | None:
        if path != "/v1/chat/completions":
            return None
        request = self.recorded(json.loads(raw), len(raw))
        reply = self.reply_to(request)
        message: dict[str, Any] = {"role": "assistant", "content": None}
        texts = [block.text for block in reply.blocks if isinstance(block, Text)]
        tools = [block for block in reply.blocks if isinstance(block, Tool)]
        if texts:
            message["content"] = "\n".join(texts)
        if tools:
            message["tool_calls"] = [self._call(at, tool) for at, tool in enumerate(tools)]
        read, written = self.usage(request)
        common = {
            "id": self.identity("chatcmpl"),
            "created": 1,
            "model": request.body.get("model", "stand-in"),
        }
        ending = {"index": 0, "finish_reason": "tool_calls" if tools else "stop"}
        usage = {
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read + written,
        }
        if not request.body.get("stream"):
            choices = [{**ending, "message": message}]
            return as_json(
                {**common, "object": "chat.completion", "choices": choices, "usage": usage}
            )
        chunk = {**common, "object": "chat.completion.chunk"}
        return as_stream(
            {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
            {**chunk, "choices": [{**ending, "delta": {}}], "usage": usage},
            last="[DONE]",
        )

    def _call(self, index: int, tool: Tool) -> dict[str, Any]:
        function = {"name": tool.name, "arguments": json.dumps(tool.input)}
        return {
            "index": index,
            "id": self.identity("call"),
            "type": "function",
            "function": function,
        }


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(each.get("text", "") for each in content or [])
