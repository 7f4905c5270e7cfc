"""Finding one's way in a project by looking at files only: no process, no import."""

import difflib
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mcp_pdb.errors import PathError

FILE_LIMIT = 3000
"""How many Python files a search looks at before it makes do with what it has."""
_NAME_LIMIT = 200
"""File systems allow names of 255 bytes, suffix included."""
_ROOT_MARKERS = ("pyproject.toml", "setup.cfg", "pytest.ini", "tox.ini", "setup.py", ".git")
_SKIPPED = frozenset({"venv", "env", "node_modules", "site-packages", "__pycache__", "build", "dist"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ModulePlace:
    """Where the leading part of a dotted name lies; ``rest`` is what follows the module."""

    folder: Path
    """The import folder in which it was found."""
    module: str
    file: Path
    """The module's file; for a package its folder."""
    rest: tuple[str, ...]

    @property
    def is_package(self) -> bool:
        """True for a folder, with or without ``__init__.py``."""
        return self.file.is_dir()


def project_root(start: Path) -> Path | None:
    """The nearest folder from ``start`` upwards that holds a project's marker, or None."""
    for folder in (start, *start.parents):
        if any((folder / marker).exists() for marker in _ROOT_MARKERS):
            return folder
    return None


def absolute(base: Path, path: str | Path) -> Path:
    """``path`` from ``base``, ``~`` and ``..`` taken out but symlinks kept: a venv's python is one."""
    try:
        path = Path(path).expanduser()
    except RuntimeError:  # the home of nobody: then ~ is a name like another
        path = Path(path)
    return Path(os.path.abspath(base / path))  # noqa: PTH100 - resolve() follows symlinks


def check_allowed(path: Path, roots: Sequence[str]) -> None:
    """Raise PathError when ``path``, symlinks resolved, lies in none of ``roots``; none allows all."""
    if not roots:
        return
    real = Path(os.path.realpath(path))
    if any(real.is_relative_to(os.path.realpath(Path(root).expanduser())) for root in roots):
        return
    leads = f" leads to {real}, which" if real != absolute(Path.cwd(), path) else ""
    raise PathError(
        f"{path}{leads} is outside the folders this server may debug in ({', '.join(roots)}): "
        "give a path inside them, or restart the server with another --root."
    )


def python_files(root: Path, limit: int = FILE_LIMIT) -> Iterator[Path]:
    """The project's own Python files, environments and hidden folders left out."""
    count = 0
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(
            name
            for name in folders
            if name not in _SKIPPED
            and not name.startswith(".")
            and not os.path.exists(f"{folder}/{name}/pyvenv.cfg")  # noqa: PTH110 - false without permission
        )
        for name in sorted(files):
            if name.endswith(".py"):
                yield Path(folder, name)
                count += 1
                if count >= limit:
                    return


def nearest_files(asked: str, root: Path, count: int = 3) -> list[str]:
    """Python files below ``root`` that ``asked`` may have meant, relative to it, best first."""
    name = Path(asked).name
    paths = [str(path.relative_to(root)) for path in python_files(root)]
    same = [path for path in paths if Path(path).name == name]
    by_name: dict[str, list[str]] = {}
    for path in paths:
        by_name.setdefault(Path(path).name, []).append(path)
    similar = [path for match in nearest(name, by_name, count) for path in by_name[match]]
    similar += nearest(asked, paths, count)
    return list(dict.fromkeys(same or similar))[:count]


def nearest(asked: str, names: Iterable[str], count: int = 3) -> list[str]:
    """The names most like ``asked``, best first."""
    return difflib.get_close_matches(asked, list(dict.fromkeys(names)), n=count, cutoff=0.65)


def find_module(dotted: str, folders: Iterable[Path]) -> ModulePlace | None:
    """The longest leading part of ``dotted`` that is a module in one of ``folders``."""
    parts = tuple(dotted.split("."))
    if not all(part.isidentifier() and len(part) <= _NAME_LIMIT for part in parts):
        return None
    found = [place for folder in folders if (place := _module_in(folder, parts)) is not None]
    return min(found, key=lambda place: len(place.rest), default=None)


def modules_in(folder: Path) -> list[str]:
    """Names that can be imported from ``folder``: modules, packages and extension modules."""
    names: set[str] = set()
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return []
    for entry in entries:
        name, dot, suffix = entry.name.partition(".")
        if (
            name.isidentifier()
            and name != "__init__"
            and (
                suffix in ("py", "pyc")
                or suffix.endswith(("so", "pyd"))
                or (not dot and entry.is_dir() and name not in _SKIPPED)
            )
        ):
            names.add(name)
    return sorted(names)


def import_folders(cwd: Path, site_packages: Iterable[Path]) -> list[Path]:
    """Where ``-m`` looks, as far as files tell: cwd, PYTHONPATH, site-packages and their .pth files."""
    folders = [cwd, *(Path(part) for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part)]
    for site in site_packages:
        folders.append(site)
        for pth in sorted(site.glob("*.pth")):
            lines = pth.read_text(encoding="utf-8", errors="replace").splitlines()
            folders += [
                site / line.strip()
                for line in lines
                if line.strip() and not line.startswith(("#", "import ", "import\t"))
            ]
    return folders


def has_import_hooks(site_packages: Iterable[Path]) -> bool:
    """True when editable installs add finders, so that files alone do not tell what is there."""
    return any(any(site.glob("__editable__*finder*")) for site in site_packages)


def is_stdlib(dotted: str) -> bool:
    """True for a module of the standard library, by this interpreter's list."""
    return dotted.partition(".")[0] in sys.stdlib_module_names


def _module_in(folder: Path, parts: tuple[str, ...]) -> ModulePlace | None:
    here = folder
    place = None
    for count, part in enumerate(parts, 1):
        package, module = here / part, here / f"{part}.py"
        file = module if not (package / "__init__.py").is_file() and module.is_file() else package
        if not file.exists():
            break
        place = ModulePlace(folder=folder, module=".".join(parts[:count]), file=file, rest=parts[count:])
        if file is module:
            break
        here = package
    return place
