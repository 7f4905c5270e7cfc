"""What sampled ids say: text, reasoning, calls; well formed or not."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pdb_agent.messages import AssistantMessage, UserMessage
from pdb_trainer.renderers.opening import open_renderer
from pdb_trainer.renderers.template_renderer import TemplateRenderer

from tests.pdb_trainer.renderers.model_folders import family_folder
from tests.pdb_trainer.renderers.speaking import SYSTEM, TOOLS, call

NAMES = ("chatml", "hermes", "qwen3", "qwen3_thinking", "qwen3_coder")


@pytest.fixture(scope="module", params=NAMES)
def renderer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> TemplateRenderer:
    name: str = request.param
    family = {"chatml": "hermes", "qwen3_thinking": "qwen3"}.get(name, name)
    return open_renderer(name, family_folder(tmp_path_factory.mktemp("model"), family))


def ids_of(renderer: TemplateRenderer, text: str) -> list[int]:
    return renderer.tokenizer.encode_template(text)


def test_what_is_written_is_read_back(renderer: TemplateRenderer):
    calls = (call("c_0", "read_file", path="größe.py", first=3), call("c_1", "done"))
    thought = "First\nthis." if renderer.name == "qwen3_thinking" else ""
    reply = AssistantMessage(text="I look.", reasoning=thought, calls=calls)
    whole = renderer.conversation(SYSTEM, TOOLS, [UserMessage(text="Go."), reply])
    parsed = renderer.parse(whole.token_ids[whole.trained].tolist(), TOOLS, "c", cut=False)
    assert (parsed.text, parsed.reasoning) == ("I look.", thought)
    assert [(each.id, each.name, each.arguments, each.error) for each in parsed.calls] == [
        (each.id, each.name, each.arguments, None) for each in calls
    ]


def test_a_malformed_call_is_a_call_with_its_error(renderer: TemplateRenderer):
    ids = ids_of(
        renderer, '<tool_call>\n{"name": "read_file", "arguments": {"path": \n</tool_call><|im_end|>'
    )
    parsed = renderer.parse(ids, TOOLS, "c", cut=False)
    assert [each.name for each in parsed.calls] == ["read_file"]
    assert parsed.calls[0].arguments is None
    assert "JSON" in str(parsed.calls[0].error)


def test_a_call_that_the_limit_cut_says_so(renderer: TemplateRenderer):
    for text in (
        '<tool_call>\n{"name": "read_file", "arg',
        "<tool_call>\n<function=read_file>\n<parameter=pa",
    ):
        parsed = renderer.parse(ids_of(renderer, text), TOOLS, "c", cut=True)
        assert "token limit" in str(parsed.calls[0].error)


def test_a_thought_that_was_cut_is_no_text(renderer: TemplateRenderer):
    parsed = renderer.parse(ids_of(renderer, "<think>\nThe total"), TOOLS, "c", cut=True)
    assert (parsed.text, parsed.reasoning, parsed.calls) == ("", "The total", ())


def test_a_reply_that_writes_of_thoughts_keeps_its_text(renderer: TemplateRenderer):
    text = 'See.\n<tool_call>\n{"name": "read_file", "arguments": {"path": "a</think>b"}}\n</tool_call>'
    parsed = renderer.parse(ids_of(renderer, text), TOOLS, "c", cut=False)
    assert (parsed.text, parsed.reasoning) == ("See.", "")
    assert parsed.calls[0].arguments == {"path": "a</think>b"}


def test_an_empty_reply_says_nothing(renderer: TemplateRenderer):
    for ids in ([], sorted(renderer.stop_ids)[:1]):
        parsed = renderer.parse(ids, TOOLS, "c", cut=False)
        assert (parsed.text, parsed.reasoning, parsed.calls) == ("", "", ())


def test_without_tools_a_call_is_text(renderer: TemplateRenderer):
    text = '<tool_call>\n{"name": "done"}\n</tool_call>'
    assert renderer.parse(ids_of(renderer, text), (), "c", cut=False).text == text


@settings(max_examples=60, deadline=None)
@given(ids=st.lists(st.integers(0, 2000), max_size=40), cut=st.booleans())
def test_no_ids_break_the_parser(renderer: TemplateRenderer, ids: list[int], cut: bool):
    parsed = renderer.parse(ids, TOOLS, "c", cut=cut)
    assert len({each.id for each in parsed.calls}) == len(parsed.calls)
