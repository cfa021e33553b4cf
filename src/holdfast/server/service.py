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
from holdfast.server.looking import Listed, Look, in_thread, told
from holdfast.server.pipelines import DEFINITIONS, Pipelines
from holdfast.server.workflows import STATES, Workflows

_INSTRUCTIONS = (
    "Multi-phase workflows of this project that outlive context compaction. workflow_status says "
    "where this session's workflow stands and what comes next."
)
_LOOKS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_CHANGES = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
# What has been reached may be set back or given up.
_ENDS = ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=False)
_JSON = "application/json"
_NO_PATH = ResourceSecurity(exempt_params={"name"})  # a workflow may be called anything


class Service(MCPServer):
    """With the states that there are at the moment as resources, and without its tool for hooks.

    The client calls that tool though it is not listed, and no model needs to know of it.
    """

    def __init__(self, workflows: Workflows, pipelines: Pipelines) -> None:
        super().__init__(NAME, version=__version__, instructions=_INSTRUCTIONS, log_level="ERROR")
        self._workflows = workflows
        self._pipelines = pipelines

    async def list_tools(self) -> list[Tool]:
        return [each for each in await super().list_tools() if each.name != HOOK_TOOL]

    async def list_resources(self) -> list[Resource]:
        there = await in_thread(_no_request, self._there)()
        return [Resource(**each._asdict(), mime_type=_JSON) for each in there]

    def _there(self) -> list[Listed]:
        return [*self._workflows.states(), *self._pipelines.definitions()]


def serve(surroundings: Surroundings) -> None:
    """Answer the client on stdin and stdout until it goes."""
    service = make(surroundings, Clock.from_environment())
    try:
        anyio.run(service.run_stdio_async)
    except* OSError:  # the client went away while it was being answered
        pass


def make(surroundings: Surroundings, clock: Clock) -> Service:
    """The server with all that it offers."""
    look = Look(surroundings, clock)
    workflows, pipelines = Workflows(look), Pipelines(look)
    service = Service(workflows, pipelines)
    tools = (
        (workflows.workflow_status, _LOOKS),
        (workflows.workflow_list, _LOOKS),
        (workflows.workflow_guidance, _LOOKS),
        (pipelines.get_workflow_status, _LOOKS),
        (pipelines.get_next_step, _LOOKS),
        (pipelines.validate_prerequisites, _LOOKS),
        (pipelines.approve_step, _CHANGES),
        (pipelines.update_workflow_state, _CHANGES),
        (pipelines.list_workflows, _LOOKS),
        (pipelines.resume_workflow, _ENDS),
        (pipelines.cancel_workflow, _ENDS),
    )
    for tool, hints in tools:
        service.tool(annotations=hints)(in_thread(_no_tool, tool))
    service.tool(structured_output=False)(
        in_thread(_no_tool, HookCalls(surroundings, clock).hook_event)
    )
    service.prompt()(in_thread(_no_request, workflows.resume))
    for address, read in ((STATES, workflows.state), (DEFINITIONS, pipelines.definition)):
        resource = service.resource(f"{address}{{name}}", mime_type=_JSON, security=_NO_PATH)
        resource(in_thread(_no_resource, read))
    return service


def _no_tool(error: HoldfastError) -> Exception:
    return ToolError(told(error))


def _no_resource(error: HoldfastError) -> Exception:
    kind = ResourceNotFoundError if isinstance(error, NoSuchWorkflow) else ResourceError
    return kind(told(error))


def _no_request(error: HoldfastError) -> Exception:
    return MCPError(INVALID_PARAMS, told(error))
