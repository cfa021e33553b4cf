"""The agents' programs, in the versions that the tests speak of."""

from __future__ import annotations

import platform
from collections.abc import Callable
from pathlib import Path

import npm
from holdfast.agents.clients import CLIENTS

# What docs/agents/ says was seen in these.
VERSIONS = {name: client.tried[-1] for name, client in CLIENTS.items() if client.said}
# For the agents that are JavaScript: the machine's own may be older than they need.
NODE = "22.23.3"

_MACHINE = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
_PLATFORM = f"{platform.system().lower()}-{_MACHINE}"


def command(agent: str) -> list[str]:
    """What starts the agent. It is installed once and kept, so only the first time needs a network."""
    return {
        "codex": _codex,
        "qwen": _qwen,
        "copilot": _copilot,
        "gemini": _gemini,
        "opencode": _opencode,
    }[agent]()


def node() -> Path:
    package = f"node-{_PLATFORM}"
    return npm.installed(
        f"node-{NODE}", [f"{package}@{NODE}"], _at(f"node_modules/{package}/bin/node")
    )


def _codex() -> list[str]:
    found = _at(f"node_modules/@openai/codex-{_PLATFORM}/vendor/*/bin/codex")
    return [str(_installed("codex", "@openai/codex", found))]


def _copilot() -> list[str]:
    found = _at(f"node_modules/@github/copilot-{_PLATFORM}/copilot")
    return [str(_installed("copilot", "@github/copilot", found))]


def _qwen() -> list[str]:
    found = _at("node_modules/@qwen-code/qwen-code/cli.js")
    return [str(node()), str(_installed("qwen", "@qwen-code/qwen-code", found))]


def _gemini() -> list[str]:
    found = _at("node_modules/@google/gemini-cli/bundle/gemini.js")
    return [str(node()), str(_installed("gemini", "@google/gemini-cli", found))]


def _opencode() -> list[str]:
    found = _at(f"node_modules/opencode-{_PLATFORM}/bin/opencode")
    return [str(_installed("opencode", "opencode-ai", found))]


def _installed(agent: str, package: str, program: Callable[[Path], Path]) -> Path:
    version = VERSIONS[agent]
    return npm.installed(f"{agent}-{version}", [f"{package}@{version}"], program)


def _at(pattern: str) -> Callable[[Path], Path]:
    def found(folder: Path) -> Path:
        for each in sorted(folder.glob(pattern)):
            return each
        raise npm.NotInstalled(f"there is no {pattern} in what npm installed")

    return found
