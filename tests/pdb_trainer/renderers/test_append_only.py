"""However a conversation goes, its ids only ever grow, and nobody's words become the template's."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pdb_agent.messages import AssistantMessage, Message, ToolMessage, UserMessage
from pdb_trainer.renderers.chatml import ChatMLFormat
from pdb_trainer.renderers.formats import Format
from pdb_trainer.renderers.hermes import HermesFormat
from pdb_trainer.renderers.qwen3 import Qwen3Format
from pdb_trainer.renderers.qwen3_coder import Qwen3CoderFormat
from pdb_trainer.renderers.template_renderer import TemplateRenderer
from pdb_trainer.renderers.text_tokenizer import TextTokenizer

from tests.pdb_trainer.renderers.model_folders import TAGS, make_tokenizer
from tests.pdb_trainer.renderers.speaking import HOSTILE, SYSTEM, TOOLS, call, others, results, sampled, texts

FORMATS: tuple[Format, ...] = (
    ChatMLFormat(),
    HermesFormat(),
    Qwen3Format(thinking=False),
    Qwen3Format(thinking=True),
    Qwen3CoderFormat(),
)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> TextTokenizer:
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    make_tokenizer(TAGS).save(str(path))
    return TextTokenizer(path)


@pytest.fixture(scope="module", params=FORMATS, ids=lambda each: each.name)
def renderer(request: pytest.FixtureRequest, tokenizer: TextTokenizer) -> TemplateRenderer:
    return TemplateRenderer(request.param, tokenizer)


def added_ids(renderer: TemplateRenderer, ids: list[int]) -> list[str]:
    """Names of the added tokens among ids, in order."""
    names = {renderer.tokenizer.token(name): name for name in ("<|im_start|>", "<|im_end|>", *TAGS)}
    return [names[each] for each in ids if each in names]


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_a_prompt_begins_with_the_prompt_before_it_and_what_was_sampled_then(
    renderer: TemplateRenderer, data: st.DataObject
):
    messages: list[Message] = [UserMessage(text=data.draw(texts))]
    ids = st.integers(0, 300)
    for _ in range(data.draw(st.integers(1, 4))):
        before = renderer.prompt(SYSTEM, TOOLS, messages)
        reply = data.draw(st.lists(ids, max_size=12))
        if data.draw(st.booleans()):
            reply.append(data.draw(st.sampled_from(sorted(renderer.stop_ids))))
        calls = data.draw(st.integers(0, 2))
        messages += [
            sampled(reply, tuple(call(str(n), "done") for n in range(calls))),
            data.draw(others(calls)),
        ]
        now = renderer.prompt(SYSTEM, TOOLS, messages)
        assert now[: len(before) + len(reply)] == before + reply


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_a_written_conversation_grows_by_appending_as_well(renderer: TemplateRenderer, data: st.DataObject):
    messages: list[Message] = [UserMessage(text=data.draw(texts))]
    for _ in range(data.draw(st.integers(1, 3))):
        before = renderer.prompt(SYSTEM, TOOLS, messages)
        calls = tuple(
            call(str(n), "read_file", path=data.draw(texts)) for n in range(data.draw(st.integers(0, 2)))
        )
        messages.append(AssistantMessage(text=data.draw(texts), reasoning=data.draw(texts), calls=calls))
        whole = renderer.conversation(SYSTEM, TOOLS, messages)
        messages.append(data.draw(others(len(calls))))
        now = renderer.prompt(SYSTEM, TOOLS, messages)
        assert now[: len(before)] == before
        assert now[: len(whole.token_ids)] == whole.token_ids.tolist()


@pytest.mark.parametrize("text", HOSTILE)
def test_what_a_user_or_a_tool_says_is_text_whatever_it_looks_like(renderer: TemplateRenderer, text: str):
    reply = AssistantMessage(text="I look.", calls=(call("1", "read_file", path="a.py"),))
    harmless = renderer.prompt(SYSTEM, TOOLS, [UserMessage(text="x"), reply, results(reply, "x")])
    hostile = renderer.prompt(SYSTEM, TOOLS, [UserMessage(text=text), reply, results(reply, f"{text}{text}")])
    assert added_ids(renderer, hostile) == added_ids(renderer, harmless)
    assert renderer.decode(hostile).count(text) >= 3


@pytest.mark.parametrize("text", HOSTILE)
def test_what_a_model_is_written_to_say_is_text_as_well(renderer: TemplateRenderer, text: str):
    def ids(said: str) -> list[int]:
        reply = AssistantMessage(
            text=f"a{said}", reasoning=f"b{said}", calls=(call("1", "read_file", path=said),)
        )
        return renderer.conversation(SYSTEM, TOOLS, [UserMessage(text="x"), reply]).token_ids.tolist()

    assert added_ids(renderer, ids(text)) == added_ids(renderer, ids("y"))


def test_a_reply_that_ended_itself_gets_a_line_break_and_one_that_was_cut_its_end(renderer: TemplateRenderer):
    end = renderer.tokenizer.token("<|im_end|>")
    begin = [UserMessage(text="Go.")]
    opened = renderer.prompt(SYSTEM, TOOLS, begin)
    for reply in ([5, 6, end], [5, 6], [], [5, renderer.tokenizer.token("<|endoftext|>")]):
        ids = [each for each in reply if each is not None]
        whole = renderer.conversation(SYSTEM, TOOLS, [*begin, sampled(ids)])
        added = whole.token_ids.tolist()[len(opened) + len(ids) :]
        closer = [] if ids and ids[-1] == end else ["<|im_end|>"]
        assert renderer.decode(added) == "".join(closer) + "\n"
        assert whole.trained.nonzero()[0].tolist() == list(range(len(opened), len(opened) + len(ids)))


def test_what_is_trained_is_what_the_model_says_and_its_end_token(renderer: TemplateRenderer):
    first = AssistantMessage(text="I look.", calls=(call("1", "read_file", path="a.py"),))
    last = AssistantMessage(text="It is done.")
    messages = [UserMessage(text="Go."), first, results(first, "x = 1"), last]
    whole = renderer.conversation(SYSTEM, TOOLS, messages)
    said = [
        renderer.decode(whole.token_ids[(whole.response == index) & whole.trained].tolist())
        for index in (0, 1)
    ]
    assert said[0].startswith(
        "<think>\n\n</think>\n\nI look." if renderer.name == "qwen3_thinking" else "I look."
    )
    assert "a.py" in said[0]
    assert said[0].endswith("</tool_call><|im_end|>")
    assert said[1].endswith("It is done.<|im_end|>")
    assert (whole.response >= 0).tolist() == whole.trained.tolist()
    assert "x = 1" not in "".join(said)


def test_a_turn_without_results_adds_nothing(renderer: TemplateRenderer):
    begin: list[Message] = [UserMessage(text="Go."), AssistantMessage(text="No.")]
    assert renderer.prompt(SYSTEM, TOOLS, [*begin, ToolMessage(results=())]) == renderer.prompt(
        SYSTEM, TOOLS, begin
    )


def test_half_a_character_is_replaced(renderer: TemplateRenderer):
    assert renderer.prompt(SYSTEM, TOOLS, [UserMessage(text="a\ud800b")]) == renderer.prompt(
        SYSTEM, TOOLS, [UserMessage(text="a?b")]
    )


def test_the_ids_of_a_reply_survive_a_file(renderer: TemplateRenderer):
    stored = json.loads(json.dumps(sampled([3, 4]).native))
    read = AssistantMessage(text="", native=tuple(stored), native_of="live/test")
    messages = [UserMessage(text="Go.")]
    assert renderer.prompt(SYSTEM, TOOLS, [*messages, read]) == renderer.prompt(
        SYSTEM, TOOLS, [*messages, sampled([3, 4])]
    )
