"""Further MCP servers, from the ``mcpServers`` file that clients commonly read."""

from dataclasses import dataclass
from pathlib import Path

from mcp.client.stdio import StdioServerParameters
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pdb_agent.errors import AgentError


class McpServersError(AgentError):
    """A file that names no servers; the message says what to write there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServer:
    """A server to connect to. One with a command runs on this machine, outside the sandbox."""

    name: str
    target: StdioServerParameters | str
    """A command, or an address."""


class _Entry(BaseModel):
    model_config = ConfigDict(extra="ignore")
    command: str | None = None
    args: list[str] = Field(default_factory=list)
    env: dict[str, str] = Field(default_factory=dict)
    cwd: str | None = None
    url: str | None = None


class _File(BaseModel):
    servers: dict[str, _Entry] = Field(alias="mcpServers")


def read_mcp_servers(path: Path) -> tuple[McpServer, ...]:
    """The servers of a file. Raises McpServersError."""
    try:
        entries = _File.model_validate_json(path.read_bytes()).servers
    except OSError as error:
        raise McpServersError(f"{path} cannot be read ({error.strerror}): give a JSON file.") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "its content"
        raise McpServersError(
            f"{path}: {place} does not do ({first['msg']}): "
            'write {"mcpServers": {"name": {"command": "…"}}}.'
        ) from error
    return tuple(McpServer(name=name, target=_target(path, name, entry)) for name, entry in entries.items())


def _target(path: Path, name: str, entry: _Entry) -> StdioServerParameters | str:
    if entry.command is not None:
        return StdioServerParameters(
            command=entry.command, args=entry.args, env=entry.env or None, cwd=entry.cwd
        )
    if entry.url is not None:
        return entry.url
    raise McpServersError(f"{path}: {name} has neither command nor url: give one.")
