"""What importing the packages brings along, and what the code inside a debuggee may import."""

import ast
import subprocess
import sys
from pathlib import Path

import mcp_pdb
import pytest

PACKAGE = Path(mcp_pdb.__file__).parent
DEBUGGEE_MODULES = sorted((PACKAGE / "debuggee").glob("*.py"))
HEAVY = [
    "torch",
    "transformers",
    "numpy",
    "pandas",
    "debugpy",
    "mcp",
    "pydantic",
    "starlette",
    "uvicorn",
    "pytest",
]
OF_THE_TARGET = {"pytest", "_pytest", "pydevd", "_pydevd_bundle", "_pydev_bundle", "debugpy"}
"""What the debuggee's own interpreter may have; imported there only inside functions."""
OURS = {"_mcp_pdb_debuggee"}
"""The name under which the debuggee's code is loaded there."""


def loaded_after(statement: str) -> set[str]:
    """The top-level modules of a fresh interpreter after ``statement``."""
    program = (
        f"{statement}; import sys; print('\\n'.join({{name.partition('.')[0] for name in sys.modules}}))"
    )
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(finished.stdout.split())


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert loaded_after("import mcp_pdb").isdisjoint(HEAVY)


def test_the_records_and_errors_load_nothing_heavy() -> None:
    assert loaded_after("import mcp_pdb.records, mcp_pdb.errors").isdisjoint(HEAVY)


def test_the_command_line_parses_before_it_loads_the_protocol() -> None:
    assert loaded_after("import mcp_pdb.cli").isdisjoint(HEAVY)


@pytest.mark.parametrize("package", ["pdb_agent", "pdb_trainer"])
def test_the_other_commands_parse_before_they_load_what_they_need(package: str) -> None:
    assert loaded_after(f"import {package}.cli").isdisjoint(HEAVY)


def test_recipes_and_rewards_come_without_tensors() -> None:
    pure = "import pdb_trainer.config, pdb_trainer.reward, pdb_trainer.packing, pdb_trainer.rollout_worker"

    assert loaded_after(pure).isdisjoint({"torch", "transformers", "peft"})


def imported_names(tree: ast.AST) -> set[str]:
    """The top-level names that absolute imports under ``tree`` ask for."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add((node.module or "").partition(".")[0])
    return names


def names_imported_on_load(tree: ast.Module) -> set[str]:
    """Like ``imported_names``, without what only a function's body imports."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    names: set[str] = set()
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= imported_names(node)
        waiting += [child for child in ast.iter_child_nodes(node) if not isinstance(child, functions)]
    return names


@pytest.mark.parametrize("module", DEBUGGEE_MODULES, ids=lambda path: path.stem)
def test_code_inside_the_debuggee_imports_the_standard_library_only(module: Path) -> None:
    tree = ast.parse(module.read_text(encoding="utf-8"))

    assert names_imported_on_load(tree) <= sys.stdlib_module_names
    assert imported_names(tree) <= sys.stdlib_module_names | OF_THE_TARGET | OURS


@pytest.mark.parametrize("module", DEBUGGEE_MODULES, ids=lambda path: path.stem)
def test_code_inside_the_debuggee_is_python_3_8(module: Path) -> None:
    ast.parse(module.read_text(encoding="utf-8"), feature_version=(3, 8))
