import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some
from pdb_agent.messages import ToolSpec
from pdb_agent.policies.call_parsing import calls_in_text, read_call, replayable_arguments

SET = ToolSpec(
    name="set_breakpoint",
    description="",
    schema={
        "type": "object",
        "properties": {
            "file": {"type": "string"},
            "line": {"type": "integer"},
            "once": {"type": "boolean"},
            "condition": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "hit": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "names": {"type": "array"},
            "depth": {"type": ["integer", "null"]},
        },
    },
)


def found(text: str, *, cut: bool = False):
    result = calls_in_text(text, (SET,), "call", cut=cut)
    assert result is not None
    return result


def tagged(name: str, /, **values: str) -> str:
    parameters = "\n".join(f"<parameter={key}>\n{value}\n</parameter>" for key, value in values.items())
    return f"<tool_call>\n<function={name}>\n{parameters}\n</function>\n</tool_call>"


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ('{"a": ', "not valid JSON"),
        ("[1]", "a list"),
        ('"text"', "a str"),
        ("null", "a NoneType"),
        ('{"a": NaN}', "NaN is no JSON value"),
        ('{"a": "\\ud83d"}', "not valid JSON"),
        ('{"a": ' + "[" * 100_000 + "}", "not valid JSON"),
        ('{"a": ' + "9" * 10_000 + "}", "not valid JSON"),
    ],
)
def test_arguments_that_are_no_json_object_say_what_to_send(raw: str, says: str):
    call = read_call("c", "run", raw)
    assert call.arguments is None
    assert call.raw == raw
    assert says in (call.error or "")
    assert (call.error or "").endswith("send one JSON object.")


def test_a_call_without_a_name_is_malformed():
    assert "names no tool" in (read_call("c", "", "{}").error or "")


@given(
    some.dictionaries(
        some.text(),
        some.recursive(
            some.none() | some.booleans() | some.integers() | some.text(), some.lists, max_leaves=5
        ),
    )
)
def test_any_object_survives_as_arguments_and_again_as_a_replay(value: dict[str, Any]):
    call = read_call("c", "run", json.dumps(value))
    assert (call.arguments, call.error) == (value, None)
    assert replayable_arguments(call) == value


def test_a_malformed_call_is_replayed_with_its_own_words():
    assert replayable_arguments(read_call("c", "run", "{oops")) == {"INVALID_JSON": "{oops"}


def test_ordinary_text_holds_no_calls():
    assert (
        calls_in_text("Use <b>bold</b> and call set_breakpoint(1); a <function=x> in passing.", (SET,), "c")
        is None
    )


def test_several_hermes_calls_and_the_text_around_them_are_told_apart():
    text = (
        'First.\n<tool_call>\n{"name": "a", "arguments": {"x": "</tool_call>"}}\n</tool_call>\n'
        '<tool_call>{"name": "b", "parameters": {}}</tool_call> Last.'
    )
    result = found(text)
    assert [(call.id, call.name, call.arguments) for call in result.calls] == [
        ("call_0", "a", {"x": "</tool_call>"}),
        ("call_1", "b", {}),
    ]
    assert result.text == "First.\n\n Last."


def test_arguments_given_as_a_text_of_json_are_read():
    (call,) = found('<tool_call>{"name": "a", "arguments": "{\\"x\\": 1}"}</tool_call>').calls
    assert call.arguments == {"x": 1}


def test_a_hermes_call_without_its_closing_tag_is_whole_if_its_json_is():
    (call,) = found('<tool_call>{"name": "a", "arguments": {}}', cut=True).calls
    assert (call.name, call.error) == ("a", None)


@pytest.mark.parametrize(("cut", "says"), [(True, "token limit"), (False, "not valid JSON")])
def test_an_unfinished_hermes_call_keeps_its_name_and_says_why(cut: bool, says: str):
    (call,) = found('<tool_call>\n{"name": "a", "arguments": {"x": "lo', cut=cut).calls
    assert (call.name, call.arguments) == ("a", None)
    assert says in (call.error or "")


def test_a_broken_call_does_not_swallow_the_next():
    result = found(
        '<tool_call>{"name": "a", "arguments": {x}}</tool_call><tool_call>{"name": "b"}</tool_call>'
    )
    assert [(call.name, call.error is None) for call in result.calls] == [("a", False), ("b", True)]


@pytest.mark.parametrize("inside", ["", "nonsense", "{", "[]", "<function>", "<function=>", '{"name": 5'])
def test_whatever_stands_in_the_tags_is_a_malformed_call_and_no_crash(inside: str):
    (call,) = found(f"<tool_call>{inside}</tool_call>").calls
    assert call.arguments is None
    assert call.error


def test_tagged_parameters_get_the_types_of_the_schema():
    text = tagged(
        "set_breakpoint",
        file="12",
        line="12",
        once="True",
        condition="None",
        hit="None",
        names='["a", 1]',
        depth="3",
        other="7",
    )
    (call,) = found(text).calls
    assert call.arguments == {
        "file": "12",
        "line": 12,
        "once": True,
        "condition": "None",
        "hit": None,
        "names": ["a", 1],
        "depth": 3,
        "other": "7",
    }


def test_a_value_of_the_wrong_type_is_left_for_the_schemas_check():
    (call,) = found(tagged("set_breakpoint", line="twelve", once="maybe")).calls
    assert call.arguments == {"line": "twelve", "once": "maybe"}


def test_tagged_text_keeps_its_lines_and_indentation_and_closing_tags_within():
    value = "    if x:\n        y = '</parameter>'\n\n</function> in a string\n"
    (call,) = found(tagged("set_breakpoint", file=value, condition="  x > 1")).calls
    assert call.arguments == {"file": value, "condition": "  x > 1"}


def test_a_tagged_call_needs_no_outer_tag_at_the_start_of_a_line():
    result = found("Now:\n<function=set_breakpoint>\n<parameter=line>\n3\n</parameter>\n</function>\nDone.")
    assert result.calls[0].arguments == {"line": 3}
    assert result.text == "Now:\n\nDone."


def test_a_tagged_call_cut_by_the_token_limit_is_not_run():
    (call,) = found("<tool_call>\n<function=set_breakpoint>\n<parameter=file>\na.p", cut=True).calls
    assert (call.name, call.arguments) == ("set_breakpoint", None)
    assert "token limit" in (call.error or "")


def test_a_tagged_call_that_merely_forgets_its_closing_tags_is_read():
    (call,) = found(
        "<tool_call>\n<function=set_breakpoint>\n<parameter=file>\na.py\n<parameter=line>\n3"
    ).calls
    assert call.arguments == {"file": "a.py", "line": 3}


@given(some.text(alphabet=list('<>/=tool_call{}"name:function parameter\n ab1,[]'), max_size=200))
def test_no_text_breaks_the_parser(text: str):
    result = calls_in_text("<tool_call>" + text, (SET,), "c")
    assert result is not None
    assert all((call.arguments is None) == (call.error is not None) for call in result.calls)
    assert len({call.id for call in result.calls}) == len(result.calls)
