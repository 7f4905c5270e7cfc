"""The real server over its real HTTP transport, with the suite's fixtures laid over it.

Run as ``python -m tests.conformance.serve``; it says on standard error where
it listens.
"""

import socket
import sys

import uvicorn
from mcp_pdb.http import PATH, create_app
from mcp_pdb.options import HttpOptions
from mcp_pdb.server import create_server

from tests.conformance.overlay import EventsInMemory, lay_over

RETRY_MILLISECONDS = 100


def main() -> None:
    server = create_server()
    lay_over(server)
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    app = create_app(server, HttpOptions(port=port))
    server.session_manager.event_store = EventsInMemory()
    server.session_manager.retry_interval = RETRY_MILLISECONDS
    sys.stderr.write(f"serving http://127.0.0.1:{port}{PATH}\n")
    uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run(sockets=[listener])


if __name__ == "__main__":
    main()
