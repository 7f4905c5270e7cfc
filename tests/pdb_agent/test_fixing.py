"""A person's own project, repaired in a copy: what comes out, and that nothing else is touched."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from textwrap import dedent

import anyio
import pytest
from pdb_agent.config import ConfigError, RunConfig
from pdb_agent.fix_commands import fix, fix_with
from pdb_agent.fixing import FixRequest, diagnose, diff_of
from pdb_agent.loop import EpisodeSettings
from pdb_agent.messages import Call, Message
from pdb_agent.policies.scripted import ScriptedPolicy, scripted_call
from pdb_agent.project_reading import FixError
from pdb_agent.sandboxes.interpreters import task_interpreter
from pdb_agent.toolsets import Toolset, ToolsetName

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
TEST = "tests/test_cart.py::TestCart::test_total_after_discount"
SUM = "    return sum(cart.prices) - cart.discount\n"
WRONG = "    return sum(cart.prices)\n"
FILES = {
    "pytest.ini": "[pytest]\ntestpaths = tests\naddopts = -x\n",
    "shop/__init__.py": "",
    "shop/cart.py": dedent(
        '''\
        """A cart."""

        from dataclasses import dataclass, field


        @dataclass
        class Cart:
            prices: list = field(default_factory=list)
            discount: int = 0


        def total(cart):
        '''
    )
    + WRONG
    + "\n\ndef count(cart):\n    return len(cart.prices)\n",
    "tests/conftest.py": dedent(
        """\
        import pytest
        from shop.cart import Cart


        @pytest.fixture
        def cart():
            return Cart(prices=[3, 4], discount=2)
        """
    ),
    "tests/test_cart.py": dedent(
        """\
        import pytest
        from shop.cart import count, total


        class TestCart:
            def test_total_after_discount(self, cart):
                assert total(cart) == 5

            @pytest.mark.parametrize("price", [1, 2])
            def test_count(self, cart, price):
                cart.prices.append(price)
                assert count(cart) == 3


        @pytest.mark.skip(reason="one day")
        def test_later():
            assert False


        def test_that_fails_anyway():
            assert count(None)
        """
    ),
}
REPAIR = scripted_call("edit_file", path="shop/cart.py", old=WRONG, new=SUM)
DONE = [scripted_call("done", summary="")]
Turns = Sequence[str | Sequence[str | Call]]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return laid_out(tmp_path / "shop-project", FILES)


def laid_out(root: Path, files: Mapping[str, str]) -> Path:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def installed_in_an_environment(root: Path) -> Path:
    """A .venv that imports from the project's src, as an editable install does, and pytest from elsewhere."""
    environment = root / ".venv"
    python = task_interpreter()
    subprocess.run([python, "-m", "venv", "--without-pip", environment], check=True)
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages, own = (
        subprocess.run([one, "-c", ask], check=True, capture_output=True, text=True).stdout.strip()
        for one in (python, environment / "bin/python")
    )
    Path(own, "installed.pth").write_text(f"{root / 'src'}\n{packages}\n", encoding="utf-8")
    return environment


@dataclass(frozen=True)
class Outcome:
    status: int
    said: str
    progress: str


async def fixed(
    root: Path, turns: Turns, *tests: str, apply: bool = False, toolset: Toolset | None = None, **more: object
) -> Outcome:
    request = FixRequest(tests=tests or (TEST,), root=root, python=task_interpreter(), **more)  # type: ignore[arg-type]
    stream, progress = StringIO(), StringIO()
    settings = EpisodeSettings(toolset=toolset or Toolset(name=ToolsetName.NO_DEBUGGER))
    status = await fix_with(
        ScriptedPolicy(turns), settings, request, wants_apply=apply, stream=stream, progress=progress
    )
    return Outcome(status, stream.getvalue(), progress.getvalue())


def state(root: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(root)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in root.rglob("*")
        if path.is_file()
    }


async def test_a_repair_is_shown_as_a_diff_with_the_verdict_and_the_project_stays_as_it_was(project: Path):
    before = state(project)
    outcome = await fixed(project, [[REPAIR], [scripted_call("run_tests", tests=[TEST])], DONE])
    assert outcome.status == 0, outcome
    assert outcome.said.startswith("--- a/shop/cart.py\n+++ b/shop/cart.py\n@@ ")
    assert f"-{WRONG}+{SUM}" in outcome.said
    assert "Repaired. The named tests pass, and so do all 2 others that passed before." in outcome.said
    assert "is as it was: apply the diff" in outcome.said
    assert state(project) == before


async def test_the_debugger_works_in_the_copy(project: Path):
    def look(messages: Sequence[Message]) -> Sequence[str | Call]:
        return [scripted_call("run_expression", code="cart.discount, sum(cart.prices)")]

    turns = [
        [scripted_call("start_debugger", target=TEST, on_failure="continue")],
        [scripted_call("add_breakpoint", at="shop.cart.total")],
        [scripted_call("continue_execution")],
        look,
        [REPAIR],
        DONE,
    ]
    outcome = await fixed(project, turns, toolset=Toolset(name=ToolsetName.DEBUG))  # type: ignore[arg-type]
    assert outcome.status == 0, outcome
    assert "(2, 7)" in outcome.progress


async def test_the_diff_that_is_shown_can_be_applied_with_git(project: Path):
    outcome = await fixed(
        project, [[REPAIR, scripted_call("edit_file", path="shop/new.py", old="", new="x = 1")], DONE]
    )
    assert outcome.status == 0, outcome
    await anyio.run_process(["git", "apply", "-"], cwd=project, input=outcome.said.encode())
    assert (project / "shop/cart.py").read_text() == FILES["shop/cart.py"].replace(WRONG, SUM)
    assert (project / "shop/new.py").read_text() == "x = 1"


async def test_a_change_that_does_not_make_the_tests_pass_is_no_repair(project: Path):
    useless = scripted_call("edit_file", path="shop/cart.py", old=WRONG, new=f"{WRONG}    # hm\n")
    outcome = await fixed(project, [[useless], DONE], apply=True)
    assert outcome.status == 1
    assert f"Not repaired (visible_fail). Named tests fail: {TEST}." in outcome.said
    assert "+    # hm" in outcome.said
    assert (project / "shop/cart.py").read_text() == FILES["shop/cart.py"]


async def test_a_repair_that_makes_another_test_fail_is_a_regression(project: Path):
    harm = scripted_call("edit_file", path="shop/cart.py", old="return len(cart.prices)", new="return 0")
    outcome = await fixed(project, [[REPAIR, harm], DONE], apply=True)
    assert outcome.status == 1
    assert "Not repaired (regression)." in outcome.said
    assert (
        "tests/test_cart.py::TestCart::test_count[1], tests/test_cart.py::TestCart::test_count[2]."
        in outcome.said
    )
    assert (project / "shop/cart.py").read_text() == FILES["shop/cart.py"]


async def test_a_test_that_is_rewritten_does_not_count(project: Path):
    cheat = scripted_call(
        "bash", command="echo 'def test_x(): pass' > tests/test_cart.py; rm tests/conftest.py"
    )
    outcome = await fixed(project, [[cheat], DONE])
    assert outcome.status == 1
    assert "Not repaired (never_edit). No file of the program was changed." in outcome.said
    assert "---" not in outcome.said


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("rm shop/cart.py", "shop/cart.py is gone, so no test ran."),
        ("echo 'def (' >> shop/cart.py", "shop/cart.py does not parse (line 18), so no test ran."),
    ],
)
async def test_sources_that_are_gone_or_do_not_parse_are_no_repair(project: Path, command: str, words: str):
    outcome = await fixed(project, [[scripted_call("bash", command=command)], DONE])
    assert outcome.status == 1
    assert f"Not repaired (broken). {words}" in outcome.said


async def test_there_is_nothing_to_repair_where_the_named_tests_pass(project: Path):
    outcome = await fixed(project, [DONE], "tests/test_cart.py::TestCart::test_count")
    assert (outcome.status, outcome.said) == (
        0,
        "The named tests pass in the sandbox: there is nothing to repair.\n",
    )


async def test_pytest_has_the_word_where_nothing_runs(project: Path):
    with pytest.raises(
        FixError, match=r"nothing to repair. pytest says:\n(?s:.*)not found: (?s:.*)test_nowhere"
    ):
        await fixed(project, [DONE], "tests/test_cart.py::test_nowhere")


async def test_a_program_that_does_not_import_is_told_in_pytests_words(project: Path):
    (project / "shop/cart.py").write_text("def (\n")
    (project / "tests/conftest.py").unlink()
    with pytest.raises(FixError, match=r"(?s)pytest says:.*SyntaxError: invalid syntax"):
        await fixed(project, [DONE])


async def test_a_test_that_hangs_fails_and_can_be_repaired(project: Path):
    hanging = FILES["shop/cart.py"].replace(WRONG, "    while True:\n        pass\n")
    (project / "shop/cart.py").write_text(hanging)
    repair = scripted_call("edit_file", path="shop/cart.py", old="    while True:\n        pass\n", new=SUM)
    outcome = await fixed(project, [[repair], DONE], test_seconds=3.0)
    assert outcome.status == 0, outcome
    assert "1 of 1 named tests fail" in outcome.progress


async def test_apply_writes_the_changed_files_and_says_which(project: Path):
    (project / "shop/cart.py").chmod(0o754)
    before = state(project)
    outcome = await fixed(project, [[REPAIR], DONE], apply=True)
    assert outcome.status == 0
    assert outcome.said.endswith("Written: shop/cart.py.\n")
    after = state(project)
    assert after.pop("shop/cart.py")[0].decode() == FILES["shop/cart.py"].replace(WRONG, SUM)
    before.pop("shop/cart.py")
    assert after == before
    assert (project / "shop/cart.py").stat().st_mode & 0o777 == 0o754


@pytest.mark.parametrize("path", ["shop/cart.py", "tests/test_cart.py", "shop/new.py"])
async def test_apply_is_refused_when_a_file_changed_meanwhile(project: Path, path: str):
    def somebody_else_writes(messages: Sequence[Message]) -> Sequence[str | Call]:
        (project / path).write_text("mine = 1\n")
        return [REPAIR, scripted_call("edit_file", path="shop/new.py", old="", new="x = 1\n")]

    with pytest.raises(FixError, match=f"^{path} changed since the project was read, so nothing was written"):
        await fixed(project, [somebody_else_writes, DONE], apply=True)  # type: ignore[list-item]
    expected = {**FILES, path: "mine = 1\n"}
    assert {name: data.decode() for name, (data, _) in state(project).items()} == expected


async def test_apply_never_writes_through_a_link(project: Path, tmp_path: Path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (project / "shop/link").symlink_to(elsewhere)
    new = scripted_call("edit_file", path="shop/link/new.py", old="", new="x = 1\n")
    with pytest.raises(FixError, match="would be written through shop/link, which is no plain folder"):
        await fixed(project, [[REPAIR, new], DONE], apply=True)
    assert list(elsewhere.iterdir()) == []
    assert (project / "shop/cart.py").read_text() == FILES["shop/cart.py"]


async def test_a_git_repository_with_uncommitted_changes_is_untouched(project: Path):
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    (project / "shop/cart.py").write_text("old = 1\n")
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "First"]):
        await anyio.run_process([*git, *command], cwd=project)
    (project / "shop/cart.py").write_text(FILES["shop/cart.py"])
    (project / "notes.txt").write_text("untracked\n")
    before = state(project)
    outcome = await fixed(project, [[scripted_call("bash", command="ls -a")], [REPAIR], DONE])
    assert outcome.status == 0, outcome
    assert state(project) == before
    assert ".git\n" not in outcome.progress
    assert "notes.txt" in outcome.progress


async def test_a_package_below_src_is_imported_from_the_copy(tmp_path: Path):
    root = laid_out(tmp_path, {path.replace("shop/", "src/shop/"): text for path, text in FILES.items()})
    environment = installed_in_an_environment(root)
    repair = scripted_call("edit_file", path="src/shop/cart.py", old=WRONG, new=SUM)
    stream, progress = StringIO(), StringIO()
    status = await fix_with(
        ScriptedPolicy([[scripted_call("bash", command="python -m pytest -q -x")], [repair], DONE]),
        EpisodeSettings(toolset=Toolset(name=ToolsetName.NO_DEBUGGER)),
        FixRequest(tests=(TEST,), root=root),
        wants_apply=False,
        stream=stream,
        progress=progress,
    )
    assert status == 0, stream.getvalue() + progress.getvalue()
    assert "assert 7 == 5" in progress.getvalue()
    assert str(environment / "bin/python") in progress.getvalue()


async def test_nothing_is_hidden_and_the_model_is_told_so(project: Path):
    diagnosis = await diagnose(FixRequest(tests=(TEST,), root=project, python=task_interpreter()))
    assert diagnosis.task.fail_to_pass == (TEST,)
    assert diagnosis.watch.passing == {
        f"tests/test_cart.py::TestCart::test_count[{price}]" for price in (1, 2)
    }
    outcome = await fixed(project, [DONE])
    assert f"These tests fail:\n- {TEST}\n" in outcome.progress


async def test_the_oracle_cannot_repair_what_nobody_knows(project: Path):
    with pytest.raises(ConfigError, match="name a model with --policy"):
        await fix(
            RunConfig(),
            FixRequest(tests=(TEST,), root=project),
            wants_apply=False,
            stream=StringIO(),
            progress=StringIO(),
        )


def test_files_that_are_empty_or_no_text_are_in_the_diff_too():
    diff = diff_of({"a.py": b"\xe9 = 1\n"}, {"a.py": b"x = 1\n", "new.py": b""})
    assert diff == (
        "Binary files a/a.py and b/a.py differ\ndiff --git a/new.py b/new.py\nnew file mode 100644\n"
    )


@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        (["--policy", "vllm/none"], 0, "The named tests pass in the sandbox: there is nothing to repair.\n"),
        (
            [],
            2,
            "pdb-agent: The oracle knows the solutions of our own tasks only: name a model with --policy",
        ),
        (["--policy", "openai/gpt"], 2, "pdb-agent: 'openai/gpt' needs a key: set the environment variable"),
        (
            ["--policy", "vllm/none", "--project", "/none"],
            2,
            "pdb-agent: /none is no folder: give the project's",
        ),
    ],
)
def test_the_command_says_what_is_the_matter(
    project: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], status: int, words: str
):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    passing = "tests/test_cart.py::TestCart::test_count"
    command = [sys.executable, "-m", "pdb_agent.cli", "fix", passing, "--python", str(task_interpreter())]
    done = subprocess.run([*command, *options], cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    assert (done.stdout if status == 0 else done.stderr).startswith(words)
    assert "Traceback" not in done.stderr
