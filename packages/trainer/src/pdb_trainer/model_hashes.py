"""What a rollout was made with, in hashes."""

import hashlib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_SERVER = "mcp-pdb-server"
_EDGE_BYTES = 1 << 20


def hashes_of(model: Path) -> dict[str, str]:
    """Of the base model, its tokenizer and its template; and the version of the debugger server."""
    return {
        "base_model": base_hash(model),
        "tokenizer": _file_hash(model / "tokenizer.json"),
        "chat_template": _file_hash(model / "chat_template.jinja"),
        "debugger_server": _version(_SERVER),
    }


def base_hash(model: Path) -> str:
    """Over config.json, and of each file of weights its name, size, beginning and end: quick for any size."""
    digest = hashlib.sha256()
    for path in (model / "config.json", *sorted(model.glob("*.safetensors"))):
        size = path.stat().st_size
        digest.update(f"{path.name} {size}\n".encode())
        with path.open("rb") as file:
            digest.update(file.read(_EDGE_BYTES))
            if size > _EDGE_BYTES:
                file.seek(max(_EDGE_BYTES, size - _EDGE_BYTES))
                digest.update(file.read())
    return digest.hexdigest()


def _file_hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
