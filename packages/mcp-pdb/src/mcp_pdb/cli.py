"""The command line: ``mcp-pdb`` serves stdio; ``serve``, ``demo``, ``diagnose`` and ``doctor`` beside it."""

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from mcp_pdb.options import HttpOptions, ServerOptions

REGISTER = """\
mcp-pdb is an MCP server: it waits for a client to speak to it here, so there is nothing to type.
Register it with your client, for example:
  claude mcp add pdb -- mcp-pdb
  codex mcp add pdb -- mcp-pdb
  gemini mcp add pdb mcp-pdb
or put {"mcpServers": {"pdb": {"command": "mcp-pdb"}}} into its settings.
`mcp-pdb demo` shows what a model sees; `mcp-pdb doctor` checks this machine. Ctrl-C ends it.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; the exit status."""
    arguments = _parser().parse_args(argv)
    try:
        match arguments.command:
            case "serve":
                return _serve(arguments)
            case "demo":
                from mcp_pdb.demo import demo

                return demo(print)
            case "diagnose":
                from mcp_pdb.diagnose import diagnose

                command = arguments.rest[1:] if arguments.rest[:1] == ["--"] else arguments.rest
                return diagnose(command, _options(arguments), print)
            case "doctor":
                from mcp_pdb.doctor import doctor

                return doctor(_options(arguments), print)
            case _:
                return _serve_stdio(ServerOptions(standby=True))
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mcp-pdb",
        description="A Python debugger for language models, over MCP. Without a command it serves stdio.",
    )
    commands = parser.add_subparsers(dest="command", metavar="command")
    serve = commands.add_parser("serve", help="serve over stdio or HTTP, with options")
    _add_server_options(serve)
    _add_transport_options(serve)
    commands.add_parser(
        "demo", help="debug a small failing test through a real client and print what a model sees"
    )
    diagnose = commands.add_parser(
        "diagnose", help="run a command; if it fails, print the post-mortem report"
    )
    _add_server_options(diagnose)
    diagnose.add_argument(
        "rest", nargs=argparse.REMAINDER, metavar="-- CMD", help="pytest …, python … or script.py …"
    )
    doctor = commands.add_parser("doctor", help="check interpreters and engines")
    _add_server_options(doctor)
    return parser


def _add_server_options(parser: argparse.ArgumentParser) -> None:
    defaults = ServerOptions()
    parser.add_argument(
        "--tools",
        choices=("default", "all"),
        default=defaults.toolset,
        help="which tools to list (default: default)",
    )
    parser.add_argument("--python", help="interpreter for the programs (default: the project's own)")
    parser.add_argument(
        "--root",
        action="append",
        default=[],
        metavar="DIR",
        help="allow programs below this folder only; repeatable",
    )
    parser.add_argument(
        "--engine", choices=("pdb", "debugpy"), default=defaults.engine, help="engine used by default"
    )
    parser.add_argument("--max-sessions", type=int, default=defaults.max_sessions, metavar="N")
    parser.add_argument(
        "--idle-seconds",
        type=float,
        metavar="S",
        help="end a session unused for so long (1800; 600 over HTTP)",
    )


def _add_transport_options(parser: argparse.ArgumentParser) -> None:
    transport = parser.add_mutually_exclusive_group()
    transport.add_argument(
        "--stdio", action="store_true", help="serve standard input and output (the default)"
    )
    transport.add_argument("--http", metavar="HOST:PORT", help="serve streamable HTTP at /mcp")
    parser.add_argument(
        "--no-standby",
        action="store_true",
        help="start every program only when it is asked for; else one waits ready, about 30 MB",
    )
    parser.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help="bearer tokens, one a line, each its own owner of sessions (or set MCP_PDB_TOKEN)",
    )
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="accept this name in Host and Origin",
    )


def _options(arguments: argparse.Namespace) -> ServerOptions:
    options = ServerOptions(
        toolset=arguments.tools,
        engine=arguments.engine,
        python=arguments.python,
        roots=tuple(str(Path(root).resolve()) for root in arguments.root),
        max_sessions=arguments.max_sessions,
    )
    return (
        options if arguments.idle_seconds is None else replace(options, idle_seconds=arguments.idle_seconds)
    )


def _serve(arguments: argparse.Namespace) -> int:
    options = replace(_options(arguments), standby=not arguments.no_standby)
    if arguments.http is None:
        return _serve_stdio(options)
    from mcp_pdb.http import HttpError, parse_address, read_tokens, serve_http

    try:
        host, port = parse_address(arguments.http)
        http = HttpOptions(
            host=host,
            port=port,
            tokens=read_tokens(arguments.token_file, os.environ.get("MCP_PDB_TOKEN")),
            allowed_hosts=tuple(arguments.allow_host),
            idle_seconds=arguments.idle_seconds or HttpOptions().idle_seconds,
        )
        return serve_http(options, http)
    except HttpError as error:
        sys.stderr.write(f"mcp-pdb: {error}\n")
        return 2


def _serve_stdio(options: ServerOptions) -> int:
    if sys.stdin.isatty():
        sys.stderr.write(REGISTER)
    sys.stdout = sys.stderr  # whatever a library prints, also while it is imported, is not the protocol
    # Importing the protocol's models makes many objects that all stay: collecting meanwhile costs 60 ms.
    gc.disable()
    import anyio

    from mcp_pdb.server import create_server

    if sys.platform == "win32":
        from mcp_pdb.windows_stdio import serve_stdio
    else:
        from mcp_pdb.stdio import serve_stdio

    gc.freeze()
    gc.enable()
    return anyio.run(serve_stdio, create_server(options))


if __name__ == "__main__":
    sys.exit(main())
