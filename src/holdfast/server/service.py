"""The server itself: which tools, resources and prompts there are."""

from __future__ import annotations

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError
from mcp.server.mcpserver.resources import ResourceSecurity
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, Resource, Tool, ToolAnnotations

from holdfast import __version__
from holdfast.clock import Clock
from holdfast.errors import HoldfastError, NoSuchWorkflow
from holdfast.project import Surroundings
from holdfast.registration import HOOK_TOOL, NAME
from holdfast.server.hook_calls import HookCalls
from holdfast.server.looking import Look, in_thread, told
from holdfast.server.workflows import STATES, Workflows

_INSTRUCTIONS = (
    "Multi-phase workflows of this project that outlive context compaction. workflow_status says "
    "where this session's workflow stands and what comes next."
)
_LOOKS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_JSON = "application/json"
_NO_PATH = ResourceSecurity(exempt_params={"name"})  # a workflow may be called anything


class Service(MCPServer):
    """With the states that there are at the moment as resources, and without its tool for hooks.

    The client calls that tool though it is not listed, and no model needs to know of it.
    """

    def __init__(self, workflows: Workflows) -> None:
        super().__init__(NAME, version=__version__, instructions=_INSTRUCTIONS, log_level="ERROR")
        self._workflows = workflows

    async def list_tools(self) -> list[Tool]:
        return [each for each in await super().list_tools() if each.name != HOOK_TOOL]

    async def list_resources(self) -> list[Resource]:
        states = await in_thread(_no_request, lambda: list(self._workflows.states()))()
        return [
            *await super().list_resources(),
            *(
                Resource(uri=uri, name=name, description=where, mime_type=_JSON)
                for uri, name, where in states
            ),
        ]


def serve(surroundings: Surroundings) -> None:
    """Answer the client on stdin and stdout until it goes."""
    service = make(surroundings, Clock.from_environment())
    try:
        anyio.run(service.run_stdio_async)
    except* OSError:  # the client went away while it was being answered
        pass


def make(surroundings: Surroundings, clock: Clock) -> Service:
    """The server with all that it offers."""
    workflows = Workflows(Look(surroundings, clock))
    service = Service(workflows)
    for look in (
        workflows.workflow_status,
        workflows.workflow_list,
        workflows.workflow_guidance,
    ):
        service.tool(annotations=_LOOKS)(in_thread(_no_tool, look))
    service.tool(structured_output=False)(
        in_thread(_no_tool, HookCalls(surroundings, clock).hook_event)
    )
    service.prompt()(in_thread(_no_request, workflows.resume))
    state = in_thread(_no_resource, workflows.state)
    service.resource(f"{STATES}{{name}}", mime_type=_JSON, security=_NO_PATH)(state)
    return service


def _no_tool(error: HoldfastError) -> Exception:
    return ToolError(told(error))


def _no_resource(error: HoldfastError) -> Exception:
    kind = ResourceNotFoundError if isinstance(error, NoSuchWorkflow) else ResourceError
    return kind(told(error))


def _no_request(error: HoldfastError) -> Exception:
    return MCPError(INVALID_PARAMS, told(error))
