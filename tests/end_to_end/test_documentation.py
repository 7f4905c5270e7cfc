"""The documentation holds: links lead somewhere, blocks parse, the published names agree."""

import json
import re
from pathlib import Path

import mcp_pdb
import pytest
from mcp_pdb.catalog import DEFAULT_TOOLS

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("packages/*/README.md")])
PACKAGE = ROOT / "packages" / "mcp-pdb"


def names(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))

    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_every_json_block_parses(page: Path) -> None:
    for block in re.findall(r"```json\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL):
        json.loads(block)


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_no_page_installs_the_other_project_of_the_same_name(page: Path) -> None:
    commands = re.findall(
        r"(?:pip install|uvx|uv tool install|pipx install) mcp-pdb\b(?!-server).*",
        page.read_text(encoding="utf-8"),
    )

    assert [command for command in commands if page.name != "0005-distribution-name.md"] == []


def test_the_registry_entry_agrees_with_the_package() -> None:
    entry = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
    settings = (PACKAGE / "pyproject.toml").read_text(encoding="utf-8")
    published = (PACKAGE / "README.md").read_text(encoding="utf-8")

    assert f'version = "{entry["version"]}"' in settings
    assert f'name = "{entry["packages"][0]["identifier"]}"' in settings
    assert entry["packages"][0]["version"] == entry["version"]
    assert f"<!-- mcp-name: {entry['name']} -->" in published
    assert len(entry["description"]) <= 100


def test_every_decision_record_has_its_three_parts() -> None:
    for record in sorted((ROOT / "docs" / "decisions").glob("*.md")):
        headings = re.findall(r"^## (\w+)", record.read_text(encoding="utf-8"), flags=re.MULTILINE)
        assert headings == ["Context", "Decision", "Consequences"], record.name


def test_every_module_of_the_server_is_on_the_map() -> None:
    overview = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    modules = [
        path.name for path in Path(mcp_pdb.__file__).parent.rglob("*.py") if path.name != "__init__.py"
    ]

    assert [name for name in modules if name not in overview] == []


def test_the_readme_names_every_default_tool() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    assert [tool.name for tool in DEFAULT_TOOLS if f"`{tool.name}`" not in readme] == []
