"""The command: measure, print, keep a baseline.

``--quick`` leaves the peers out and takes under two minutes; the whole takes
about fifteen, most of it waiting for peers that wait, and installs the peers
that are missing first.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ParamSpec, TypeVar

from bench.measurements import (
    compare_with_floor,
    first_stops,
    fleet,
    hot_loops,
    idle_memory,
    interpreter,
    play_workload,
    tool_list_bytes,
)
from bench.peers.adapter import ROOT, Debugger
from bench.peers.dap_mcp import DapMcp
from bench.peers.debug_gym import DebugGym
from bench.peers.jons_mcp_pdb import JonsMcpPdb
from bench.peers.mcp_debugger import McpDebugger
from bench.peers.mcp_pdb_0_6 import McpPdb06
from bench.peers.ours import Ours, OursCold, OursOnDebugpy
from bench.peers.pdb_mcp import PdbMcp
from bench.results import Results, targets
from bench.setup_peers import main as install_peers
from bench.tables import peers_markdown, report

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
ENGINES = (Ours, OursOnDebugpy)
COLD_ENGINES = (OursCold, OursOnDebugpy)
"""For what is measured without the debuggee that waits ready."""
PEERS: tuple[type[Debugger], ...] = (McpPdb06, DapMcp, McpDebugger, PdbMcp, JonsMcpPdb, DebugGym)
SHARED_VERSION = "3.11"
"""Peers are compared on this one."""
VERSIONS = ("3.11", "3.12", "3.13")
FLEET_SESSIONS = 50
BASELINES = Path(__file__).with_name("baselines")
PAGE = ROOT / "docs" / "explanation" / "peers.md"
MARKS = ("<!-- bench: begin -->", "<!-- bench: end -->")


def main(argv: Sequence[str] | None = None) -> int:
    """Run it; 0 unless our own server could not be measured."""
    parser = argparse.ArgumentParser(description="Measure the debugger against its floor and its peers.")
    parser.add_argument("--quick", action="store_true", help="without peers, fewer rounds, under two minutes")
    parser.add_argument("--no-peers", action="store_true", help="without peers, all rounds")
    parser.add_argument("--no-install", action="store_true", help="measure only the peers that are there")
    parser.add_argument(
        "--write-docs", action="store_true", help="put the tables into docs/explanation/peers.md"
    )
    parser.add_argument("--strict", action="store_true", help="exit with 1 when a target is missed")
    arguments = parser.parse_args(argv)
    if reason := Ours.missing():
        print(f"The server is not installed: {reason}", file=sys.stderr)
        return 1
    with_peers = not (arguments.quick or arguments.no_peers)
    if with_peers and not arguments.no_install:
        install_peers([])
    results = measure(quick=arguments.quick, with_peers=with_peers)
    print(report(results))
    if not arguments.quick:
        print(f"\nBaseline: {write_baseline(results).relative_to(ROOT)}")
    if arguments.write_docs:
        print(f"Page: {write_page(results).relative_to(ROOT)}")
    return int(arguments.strict and not all(target.met for target in targets(results)))


def measure(*, quick: bool, with_peers: bool) -> Results:
    """Everything, in an order that keeps what is compared close in time."""
    reasons = {peer.name: peer.missing() for peer in PEERS} if with_peers else {}
    missing = {name: reason for name, reason in reasons.items() if reason}
    rivals = [peer for peer in PEERS if with_peers and peer.name not in missing]
    everyone = [*ENGINES, *rivals]
    rounds = 3 if quick else 9
    versions = [version for version in VERSIONS if interpreter(version).exists()]
    return Results(
        debuggers={debugger.name: debugger for debugger in everyone},
        missing=missing,
        floors=[
            _said(f"floor, Python {each}", compare_with_floor, COLD_ENGINES, each, rounds)
            for each in versions
        ],
        sessions={
            each.name: _said(f"workload, {each.name}", play_workload, each, SHARED_VERSION)
            for each in everyone
        },
        first_stops=_said("first stops", first_stops, everyone, SHARED_VERSION, 3 if quick else 4),
        hot_loops={
            each: _said(
                f"hot loop, Python {each}",
                hot_loops,
                everyone if each == SHARED_VERSION else ENGINES,
                each,
                2 if quick else 4,
                2 if quick else 4,
            )
            for each in versions
        },
        memory={
            memory.debugger: memory
            for each in [*COLD_ENGINES, *rivals]
            if (memory := _said(f"memory, {each.name}", idle_memory, each, SHARED_VERSION, _sessions(each)))
        },
        tool_list_bytes={
            each.name: tool_list_bytes(each, SHARED_VERSION) for each in everyone if each.speaks_mcp
        },
        fleet=_said(f"{FLEET_SESSIONS} sessions", fleet, SHARED_VERSION, FLEET_SESSIONS),
    )


def _sessions(debugger: type[Debugger]) -> int:
    """Peers hold one session, or one at a time in this harness; ours are averaged."""
    return 10 if issubclass(debugger, Ours) else 1


def _said(
    what: str, function: Callable[Parameters, Result], *arguments: Parameters.args, **named: Parameters.kwargs
) -> Result:
    """Call it, and say on stderr what is under way: a person is waiting."""
    print(f"… {what}", file=sys.stderr, flush=True)
    return function(*arguments, **named)


def write_baseline(results: Results) -> Path:
    """One file per kind of machine, without names of any."""
    BASELINES.mkdir(exist_ok=True)
    path = BASELINES / f"{results.machine}.json"
    path.write_text(json.dumps(results.as_json(), indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return path


def write_page(results: Results) -> Path:
    """Replace what stands between the marks of the page."""
    begin, end = MARKS
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(begin)
    _, _, after = rest.partition(end)
    PAGE.write_text(f"{before}{begin}\n{peers_markdown(results)}\n{end}{after}", encoding="utf-8")
    return PAGE
