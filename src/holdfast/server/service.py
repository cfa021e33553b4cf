"""The server itself: which tools, resources and prompts there are, and tool events of the client.

The client fills in the fields of an `mcp_tool` hook (registration.py) one by one, as text: objects as
JSON, and what an event lacks as nothing. Put together again, they take the way of every hook. Only tool
events come here: were the server dead, no restore could come from it.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, ParamSpec, TypeVar

import anyio
import anyio.to_thread
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError
from mcp.server.mcpserver.resources import ResourceSecurity
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, Resource, Tool, ToolAnnotations

from holdfast import __version__
from holdfast.clock import Clock
from holdfast.config.project import Surroundings
from holdfast.errors import BadHookInput, HoldfastError, NoSuchWorkflow
from holdfast.formats.pipeline import files, operations
from holdfast.formats.pipeline.format import FORMAT
from holdfast.hooks import full
from holdfast.server.workflows import JSON, STATES, Workflows, safe
from holdfast.setup.registration import HOOK_TOOL, NAME, TOOL_EVENTS
from holdfast.text.plaintext import clean
from holdfast.workflows import sync

P = ParamSpec("P")
T = TypeVar("T")

_INSTRUCTIONS = (
    "Multi-phase workflows of this project that outlive context compaction. workflow_status says "
    "where this session's workflow stands and what comes next."
)
_LOOKS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_CHANGES = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
# What has been reached may be set back or given up.
_ENDS = ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=False)


class _PipelineTool(NamedTuple):
    operation: Callable[..., Any]
    hints: ToolAnnotations = _LOOKS
    takes_up: bool = False  # whether the session works on the workflow from then on


_PIPELINE_TOOLS = (
    _PipelineTool(operations.get_workflow_status),
    _PipelineTool(operations.get_next_step),
    _PipelineTool(operations.validate_prerequisites),
    _PipelineTool(operations.approve_step, _CHANGES, takes_up=True),
    _PipelineTool(operations.update_workflow_state, _CHANGES, takes_up=True),
    _PipelineTool(operations.list_workflows),
    _PipelineTool(operations.resume_workflow, _ENDS, takes_up=True),
    _PipelineTool(operations.cancel_workflow, _ENDS),
)
_NO_PATH = ResourceSecurity(exempt_params={"name"})  # a workflow may be called anything


class Service(MCPServer):
    """With the present states as resources, and without listing its tool for hooks.

    The client calls that tool though it is not listed, and no model needs to know of it.
    """

    def __init__(self, workflows: Workflows) -> None:
        super().__init__(NAME, version=__version__, instructions=_INSTRUCTIONS, log_level="ERROR")
        self._workflows = workflows

    async def list_tools(self) -> list[Tool]:
        return [tool for tool in await super().list_tools() if tool.name != HOOK_TOOL]

    async def list_resources(self) -> list[Resource]:
        return await _in_thread(_no_request, self._workflows.states)()


def serve(surroundings: Surroundings) -> None:
    """Answer the client on stdin and stdout until it goes."""
    service = make(surroundings, Clock.from_environment())
    try:
        anyio.run(service.run_stdio_async)
    except* OSError:  # the client went away while it was being answered
        pass


def make(surroundings: Surroundings, clock: Clock) -> Service:
    """The server with all that it offers."""
    project = sync.Project(surroundings, clock, lambda: "holdfast mcp")
    workflows = Workflows(project)
    service = Service(workflows)
    for look_at in (
        workflows.workflow_status,
        workflows.workflow_list,
        workflows.workflow_guidance,
    ):
        service.tool(annotations=_LOOKS)(_in_thread(_no_tool, look_at))
    for tool in _PIPELINE_TOOLS:
        service.tool(annotations=tool.hints)(_in_thread(_no_tool, _pipeline_call(project, tool)))
    hook = _in_thread(_no_tool, _hook_tool(surroundings, clock))
    service.tool(structured_output=False)(hook)
    service.prompt()(_in_thread(_no_request, workflows.resume))
    resource = service.resource(f"{STATES}{{name}}", mime_type=JSON, security=_NO_PATH)
    resource(_in_thread(_no_resource, workflows.state))
    return service


def _pipeline_call(project: sync.Project, tool: _PipelineTool) -> Callable[..., Any]:
    """The operation of *tool* with the same name, words and parameters, but without its place.

    Whoever changes a workflow by it has taken that up, as with a command, unless it was cancelled.
    """
    operation = tool.operation

    @functools.wraps(operation)
    def call(**arguments: Any) -> Any:
        if tool.hints is _LOOKS:
            return safe(operation(project.place(FORMAT.name), **arguments))
        view = project.change(FORMAT.name, save_due=False)
        answer = operation(view.place, **arguments)
        if tool.takes_up:
            with contextlib.suppress(HoldfastError):  # the step is done all the same
                file = files.find(view.place.store, arguments["workflow_id"])
                sync.take_up(view, FORMAT.workflow(view.place, file))
        return safe(answer)

    # This is where the SDK finds what a tool takes and answers.
    signature = inspect.signature(operation, eval_str=True)
    parameters = [parameter for name, parameter in signature.parameters.items() if name != "place"]
    call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return call


def _hook_tool(surroundings: Surroundings, clock: Clock) -> Callable[..., str]:
    """A tool that answers tool events in this process, instead of one process for each."""

    def hook_event(
        hook_event_name: str,
        session_id: str = "",
        cwd: str = "",
        agent_id: str = "",
        tool_name: str = "",
        tool_input: Any = "",
        tool_response: Any = "",
        error: str = "",
        is_interrupt: Any = "",
    ) -> str:
        """Answer a hook of the client. For its settings, not for agents."""
        if hook_event_name not in TOOL_EVENTS:
            raise BadHookInput(
                f"{hook_event_name!r} is not a tool event",
                hint="Register it as a command: holdfast install",
            )
        payload = {
            "hook_event_name": hook_event_name,
            "session_id": session_id,
            "cwd": cwd,
            "agent_id": agent_id,
            "tool_name": tool_name,
            "tool_input": _value(tool_input),
            "tool_response": _value(tool_response),
            "error": error,
            "is_interrupt": _value(is_interrupt),
        }
        given = {key: value for key, value in payload.items() if value != ""}
        return full.run(json.dumps(given).encode(), surroundings, clock).stdout.decode()

    return hook_event


def _value(given: object) -> object:
    """What the client wrote as JSON; as it is where that is not JSON."""
    if not isinstance(given, str) or not given:
        return given
    try:
        return json.loads(given)
    except (ValueError, RecursionError):
        return given


# How a call is run, and how it fails.


def _in_thread(
    failure: Callable[[str, HoldfastError], Exception], run: Callable[P, T]
) -> Callable[P, Awaitable[T]]:
    """*run* beside the loop, since it reads files and waits for locks; its errors as *failure*.

    It is abandoned when the client goes: a write is whole or absent, whoever waits for it.
    """

    @functools.wraps(run)
    async def call(*args: P.args, **kwargs: P.kwargs) -> T:
        work = functools.partial(run, *args, **kwargs)
        try:
            return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
        except HoldfastError as error:  # an agent gets its cause and the next step
            text = clean(f"{error.cause}\n{error.hint}" if error.hint else error.cause)
            raise failure(text, error) from error

    return call


def _no_tool(text: str, _: HoldfastError) -> Exception:
    return ToolError(text)


def _no_resource(text: str, error: HoldfastError) -> Exception:
    return (ResourceNotFoundError if isinstance(error, NoSuchWorkflow) else ResourceError)(text)


def _no_request(text: str, _: HoldfastError) -> Exception:
    return MCPError(INVALID_PARAMS, text)
