"""Gemini's API: generateContent, whole and as a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from otheragents.service import Request, Service, Turn, as_json, as_stream
from realclient.standin import Text, Tool

_METHODS = ("generateContent", "streamGenerateContent")


class GenerateRequest(Request):
    @property
    def turns(self) -> list[Turn]:
        system = self.body.get("systemInstruction") or {}
        return [Turn("system", _text(system.get("parts", []))), *self._contents()]

    def _contents(self) -> Iterator[Turn]:
        for content in self.body.get("contents", []):
            answers = [
                each["functionResponse"] for each in content["parts"] if "functionResponse" in each
            ]
            for answer in answers:
                yield Turn("tool", json.dumps(answer["response"], ensure_ascii=False))
            text = _text(content["parts"])
            if text or not answers:
                yield Turn(content["role"], text)

    @property
    def tools(self) -> list[str]:
        declared = [each.get("functionDeclarations", []) for each in self.body.get("tools", [])]
        return [function["name"] for functions in declared for function in functions]


class Generate(Service):
    asked = GenerateRequest

    def serve(self, path: str, raw: bytes) -> tuple[bytes, str] | None:
        method = path.partition(":")[2]
        if method == "countTokens":
            return as_json({"totalTokens": len(raw) // 4})
        if method not in _METHODS:
            return None
        request = self.recorded(json.loads(raw), len(raw))
        reply = self.reply_to(request)
        content = {"role": "model", "parts": [self._part(block) for block in reply.blocks]}
        read, written = self.usage(request)
        response = {
            "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {
                "promptTokenCount": read,
                "candidatesTokenCount": written,
                "totalTokenCount": read + written,
            },
            "modelVersion": "stand-in",
            "responseId": self.identity("response"),
        }
        return as_json(response) if method == "generateContent" else as_stream(response)

    def _part(self, block: Text | Tool) -> dict[str, Any]:
        if isinstance(block, Text):
            return {"text": block.text}
        return {
            "functionCall": {"id": self.identity("call"), "name": block.name, "args": block.input}
        }


def _text(parts: list[dict[str, Any]]) -> str:
    return "\n".join(each["text"] for each in parts if "text" in each)
