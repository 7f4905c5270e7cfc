"""What a lab's base model reads before it is taught anything, and the tokenizer that is made of it.

Half are listings: a right program with its tests. Half are conversations in which somebody reads a program
and tries entries of the menu that were drawn by chance: how tools are called and what they answer. They are
made without a sandbox; what the tests would say is computed, and written in pytest's manner.
"""

import json
import random
import re
from collections.abc import Iterator, Sequence

from pdb_agent.messages import (
    AssistantMessage,
    Call,
    CallStatus,
    Message,
    ToolMessage,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from pdb_agent.procedural.gym import GymTask
from pdb_agent.procedural.gym_tasks import as_task
from pdb_agent.prompt import first_message, system_prompt
from pdb_agent.task import Split
from pdb_agent.toolsets import Toolset, ToolsetName
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from pdb_trainer.labs.pytest_words import report
from pdb_trainer.renderers.chatml import ChatMLFormat
from pdb_trainer.renderers.renderer import Renderer

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
_FIXED_CHARS = 25
"""A longer line that every prompt has is a word of its own: it costs one token."""
_SEEN_PROMPTS = 20
_MOST_TRIES = 2
_ENDS = 0.8
_NOTHING = "{} finds nothing to change in this program."
_WORDS = (
    r"</?tool_[a-z]+>",
    r"\{\"name\": \"[a-z_]+\", \"arguments\": \{(?:\"[a-z]+\": \")?",
    r" ?fix_[a-z_]+",
    r"\n {2,3}\d+ +",
    r"_?[A-Za-z]+ ?",
    r"\d+",
    r"[^\sA-Za-z\d_]+ ?",
    r"\n+",
    r"\s+",
)
"""Pieces that merges stay inside of. A space belongs to the word before it, so that a name is the same
tokens wherever it stands, and a whole number is a piece: both are what has to be copied and compared."""


def system_of(task: GymTask) -> str:
    """What the agent says first."""
    return system_prompt(as_task(task, Split.TRAIN), Toolset(name=ToolsetName.EDIT_MENU))


def listing(task: GymTask) -> str:
    """A right program and its tests, numbered as the tool shows them."""
    path, tests = task.source_path, f"tests/test_{task.function}.py"
    right, test_lines = task.solved_source.decode(), task.workspace[tests].decode()
    return f"{path}\n{shown(right)}\n{tests}\n{shown(test_lines)}\nRead {path}."


def shown(source: str) -> str:
    """Lines as read_file numbers them."""
    return "\n".join(f"{number:4} {line}" for number, line in enumerate(source.splitlines(), start=1))


def aimless(task: GymTask, draw: random.Random) -> list[Message]:
    """A conversation in which the program is read, and then entries of the menu are tried by chance.

    After each run of the tests, pass or fail, it mostly ends; now and then there is another try.
    """
    source = task.workspace[task.source_path]
    messages: list[Message] = [
        UserMessage(text=first_message(as_task(task, Split.TRAIN))),
        _said(f"Read {task.source_path}.", "read_file", {"path": task.source_path}),
        _answered("read_file", shown(source.decode())),
    ]
    for _ in range(_MOST_TRIES):
        entry = draw.choice(task.edit_operations)
        now = entry.files.get(task.source_path, source)
        words = f"Applied {entry.operation}." if entry.applies else _NOTHING.format(entry.operation)
        messages += [
            _said("Apply it.", "edit", {"op": str(entry.operation)}),
            _answered("edit", words),
            _said("Check it.", "run_tests", {}),
            _answered("run_tests", report(task, now.decode())),
        ]
        if draw.random() < _ENDS:
            break
    return [*messages, AssistantMessage(text="That is what I tried.")]


def texts(
    tasks: Sequence[GymTask], tools: Sequence[ToolSpec], renderer: Renderer, tokenizer: Tokenizer, seed: int
) -> list[list[int]]:
    """The primer in ids, each text between two <|endoftext|> or as the template has it."""
    draw = random.Random(f"{seed}/primer")
    end = special_ids(tokenizer)[0]
    result: list[list[int]] = []
    for number, task in enumerate(tasks):
        if number % 2:
            rendered = renderer.conversation(system_of(task), tools, aimless(task, draw))
            result.append([int(token) for token in rendered.token_ids])
        else:
            result.append([end, *tokenizer.encode(listing(task), add_special_tokens=False).ids, end])
    return result


def make_tokenizer(tasks: Sequence[GymTask], tools: Sequence[ToolSpec], vocabulary: int) -> Tokenizer:
    """Byte-level BPE of what a policy reads and says."""
    tokenizer = Tokenizer(models.BPE())
    fixed = "|".join(map(re.escape, _fixed_lines(tasks[:_SEEN_PROMPTS], tools)))
    pieces = pre_tokenizers.Split(Regex("|".join([fixed, *_WORDS])), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(  # pyright: ignore[reportAttributeAccessIssue]
        [pieces, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()  # pyright: ignore[reportAttributeAccessIssue]
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary - len(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_plain_texts(tasks, tools), trainer)
    tokenizer.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in SPECIAL])
    return tokenizer


def special_ids(tokenizer: Tokenizer) -> list[int]:
    """Of SPECIAL, in its order."""
    return tokenizer.encode("".join(SPECIAL), add_special_tokens=False).ids


def _fixed_lines(tasks: Sequence[GymTask], tools: Sequence[ToolSpec]) -> list[str]:
    """Long pieces of the prompt that do not change with the task, the longest first."""
    common: set[str] | None = None
    for task in tasks:
        pieces = re.split(rf"\n|{re.escape(task.function)}", _head(task, tools))
        lines = {piece for piece in pieces if len(piece) > _FIXED_CHARS}
        common = lines if common is None else common & lines
    return sorted(common or (), key=lambda line: (-len(line), line))


def _plain_texts(tasks: Sequence[GymTask], tools: Sequence[ToolSpec]) -> Iterator[str]:
    """Everything, without the names of special tokens."""
    format_, draw = ChatMLFormat(), random.Random(0)
    for task in tasks:
        parts = [_head(task, tools), listing(task), "user\nassistant\nsystem\n"]
        for message in aimless(task, draw):
            match message:
                case UserMessage():
                    parts.append(message.text)
                case AssistantMessage():
                    parts.append("".join(piece.text for piece in format_.reply(message)))
                case ToolMessage():
                    parts.append("".join(piece.text for piece in format_.results(message)))
        parts.append("The tests pass.")
        yield re.sub("|".join(map(re.escape, SPECIAL)), "\n", "\n".join(parts))


def _head(task: GymTask, tools: Sequence[ToolSpec]) -> str:
    return "".join(piece.text for piece in ChatMLFormat().head(system_of(task), tools))


def _said(text: str, name: str, arguments: dict[str, str]) -> AssistantMessage:
    call = Call(id="call", name=name, arguments=arguments, raw=json.dumps(arguments))
    return AssistantMessage(text=text, calls=(call,))


def _answered(name: str, text: str) -> ToolMessage:
    return ToolMessage(results=(ToolResult(call_id="call", name=name, status=CallStatus.OK, text=text),))
