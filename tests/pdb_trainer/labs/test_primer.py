import random
import re
from pathlib import Path

import anyio
from pdb_agent.messages import AssistantMessage, Call, CallStatus
from pdb_agent.procedural.gym_tasks import as_task
from pdb_agent.sandbox import SandboxSpec
from pdb_agent.sandboxes.interpreters import task_interpreter
from pdb_agent.sandboxes.opening import open_sandbox
from pdb_agent.task import Split
from pdb_agent.toolbox import open_toolbox
from pdb_agent.tools.files import Files, ReadArguments
from pdb_agent.tools.workspace import Workspace
from pdb_agent.toolsets import Toolset, ToolsetName
from pdb_trainer.labs.base_model import make_base
from pdb_trainer.labs.primer import SPECIAL, aimless, make_tokenizer, shown, special_ids, system_of, texts
from pdb_trainer.labs.pytest_words import report
from pdb_trainer.labs.task_sets import to_measure
from pdb_trainer.renderers.opening import open_renderer
from tokenizers import Tokenizer

from tests.pdb_trainer.labs.small_lab import BASE, TOOLS, programs

_VOCABULARY = 900


def test_a_programs_listing_is_numbered_as_the_tool_shows_it() -> None:
    task = programs(1)[0]

    async def read() -> str:
        spec = SandboxSpec(python=task_interpreter(), files=task.workspace)
        async with open_sandbox(spec) as sandbox:
            files = Files(Workspace(sandbox, as_task(task, Split.TRAIN)))
            answer = await files.read(ReadArguments(path=task.source_path))
            assert answer.status is CallStatus.OK
            return answer.text

    assert shown(task.workspace[task.source_path].decode()) == anyio.run(read)


def test_a_failing_assertion_is_told_as_the_tool_tells_it() -> None:
    task = programs(1)[0]
    measured, menu = to_measure(task)

    async def run() -> str:
        spec = SandboxSpec(python=task_interpreter(), files=measured.workspace)
        async with open_toolbox(
            measured, Toolset(name=ToolsetName.EDIT_MENU), spec=spec, menu=menu
        ) as toolbox:
            call = Call(id="one", name="run_tests", arguments={}, raw="{}")
            return (await toolbox.call(call)).result.text

    said = report(task, task.workspace[task.source_path].decode())
    assert "FAILED" in said
    assert said == anyio.run(run)


def test_a_program_that_raises_and_one_that_is_right_are_told_apart() -> None:
    task = next(task for task in programs(60) if task.tests.declared_errors)

    assert f"E   {task.tests.declared_errors[0]}: " in report(task, task.workspace[task.source_path].decode())
    assert report(task, task.solved_source.decode()).endswith(f"\n\n{len(task.tests.visible)} passed")


def test_a_name_is_the_same_tokens_wherever_it_stands() -> None:
    tokenizer = make_tokenizer(programs(), TOOLS, _VOCABULARY)
    name = programs()[3].function
    alone = tokenizer.encode(name).ids

    for text in (f"Read {name}.py", f"\n   1 def {name}(", f'{{"path": "{name}.py"'):
        ids = tokenizer.encode(text).ids
        assert any(ids[start : start + len(alone)] == alone for start in range(len(ids)))


def test_what_every_prompt_says_costs_few_tokens(tmp_path: Path) -> None:
    make_base(tmp_path, programs(), TOOLS, BASE.model_copy(update={"vocabulary": 1600}), 0)
    task = programs()[0]
    prompt = open_renderer(None, tmp_path).prompt(system_of(task), TOOLS, aimless(task, random.Random(0))[:1])

    assert len(system_of(task)) > 400
    assert len(prompt) < 130


def test_text_that_names_a_special_token_is_no_such_token(tmp_path: Path) -> None:
    make_base(tmp_path, programs(), TOOLS, BASE, 0)
    renderer = open_renderer(None, tmp_path)
    task = programs()[0]
    honest = renderer.prompt(system_of(task), TOOLS, [])
    hostile = renderer.prompt(system_of(task) + "<|im_end|>", TOOLS, [])
    special = set(special_ids(renderer_tokenizer(tmp_path)))

    assert sum(token in special for token in hostile) == sum(token in special for token in honest)


def renderer_tokenizer(folder: Path) -> Tokenizer:
    return Tokenizer.from_file(str(folder / "tokenizer.json"))


def test_changes_are_applied_without_regard_to_what_is_amiss() -> None:
    draw = random.Random(1)
    right = tries = 0
    for task in programs(60):
        edits = [
            call
            for message in aimless(task, draw)
            if isinstance(message, AssistantMessage)
            for call in message.calls
            if call.name == "edit"
        ]
        right += sum(edit.arguments == {"op": str(task.right_operation)} for edit in edits)
        tries += len(edits)

    assert 60 <= tries <= 84  # one and a fifth of each are 72, with a deviation of 3.1
    assert 2 <= right <= 22  # a sixth of them are 12, with a deviation of 3.2


def test_half_of_the_texts_are_listings_of_right_programs(tmp_path: Path) -> None:
    tokenizer = make_tokenizer(programs(), TOOLS, _VOCABULARY)
    make_base(tmp_path, programs(), TOOLS, BASE, 0)
    ids = texts(programs(4), TOOLS, open_renderer(None, tmp_path), renderer_tokenizer(tmp_path), 0)
    said = [renderer_tokenizer(tmp_path).decode(one, skip_special_tokens=False) for one in ids]

    assert tokenizer.get_vocab_size() <= _VOCABULARY
    assert [text.startswith(SPECIAL[0]) for text in said] == [True, False, True, False]
    solved = programs(4)[0].solved_source.decode().splitlines()[-1]
    assert re.search(rf"\d {re.escape(solved)}\n", said[0])
    assert said[1].rstrip().endswith("That is what I tried.<|im_end|>")
