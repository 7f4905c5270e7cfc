"""What every export keeps to, whatever the episode."""

import json
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from pdb_agent.episode import Answered, Episode, Replied, Said, Unlocked
from pdb_agent.exports import atif, openai_chat, sft
from pdb_agent.exports.conversation import ExportError
from pdb_agent.messages import Call, CallStatus, Stop, TokenIds

from tests.pdb_agent.episode_making import TOOLS, act, done, edit, ended, episode, unlocking
from tests.pdb_agent.viewer.scenes import debugged


def malformed() -> Episode:
    """A call whose arguments do not parse, then a nudge, then parallel calls, then words only."""
    made = episode(
        [[act("bash", "Not JSON.", CallStatus.MALFORMED)], [act("read_file", path="a"), edit()], []],
        end=ended(solved=False, turns=3),
    )
    events = list(made.events)
    first = events[0]
    assert isinstance(first, Replied)
    broken = Call(
        id="call_0", name="bash", arguments=None, raw='{"command": ', error="The arguments are not JSON."
    )
    message = replace(first.reply.message, calls=(broken,), reasoning="Hm.")
    events[0] = replace(first, reply=replace(first.reply, message=message))
    events.insert(2, Said(at=1.5, text="Go on.", why="repeat"))
    events.insert(3, Said(at=1.6, text="Really.", why="idle"))
    return replace(made, events=(Said(at=0.0, text="Repair it.", why="task"), *events))


def paused() -> Episode:
    """A reply that the provider let go on."""
    made = debugged()
    at = next(index for index, event in enumerate(made.events) if isinstance(event, Replied))
    first = made.events[at]
    assert isinstance(first, Replied)
    message = replace(first.reply.message, text="Thinking.", calls=())
    pause = replace(first, turn=0, reply=replace(first.reply, stop=Stop.PAUSE, message=message))
    return replace(made, events=(*made.events[:at], pause, *made.events[at:]))


def killed() -> Episode:
    """It was killed while a call was answered."""
    made = debugged()
    return replace(made, events=made.events[:-1], ended=None)


EPISODES = {"debugged": debugged, "malformed": malformed, "paused": paused, "killed": killed}


@pytest.fixture(params=EPISODES)
def made(request: pytest.FixtureRequest) -> Episode:
    return EPISODES[request.param]()


@pytest.mark.parametrize("export", [openai_chat.export, sft.export])
def test_roles_take_turns_and_every_call_has_its_result(made: Episode, export: Any):
    messages = export(made)["messages"]
    assert [message["role"] for message in messages[:3]] == ["system", "user", "assistant"]
    open_calls: list[str] = []
    before = ""
    for message in messages:
        role = message["role"]
        if role == "tool":
            assert message["tool_call_id"] == open_calls.pop(0)
        else:
            assert open_calls == []
            assert role != before
            open_calls = [call["id"] for call in message.get("tool_calls", ())]
        before = role
    assert open_calls == []


def test_chat_arguments_are_the_text_that_the_model_sent_where_it_parses():
    made = malformed()
    calls = [
        call["function"]["arguments"]
        for message in openai_chat.export(made)["messages"]
        for call in message.get("tool_calls", ())
    ]
    assert json.loads(calls[0]) == {"INVALID_JSON": '{"command": '}
    assert calls[1] == "{'path': 'a'}"  # as the scene's model sent it, sign for sign


def test_chat_lines_hold_what_fine_tuning_takes_and_no_more():
    line = openai_chat.export(debugged())
    assert set(line) == {"messages", "tools", "parallel_tool_calls"}
    keys = {role: set[str]() for role in ("system", "user", "assistant", "tool")}
    for message in line["messages"]:
        keys[message["role"]] |= set(message)
    assert keys["assistant"] == {"role", "content", "tool_calls"}
    assert keys["tool"] == {"role", "tool_call_id", "content"}
    declared = debugged().started.tools[0]
    assert line["tools"][0] == {
        "type": "function",
        "function": {
            "name": declared.name,
            "description": declared.description,
            "parameters": declared.schema,
        },
    }


@pytest.mark.parametrize("export", [openai_chat.export, sft.export])
@pytest.mark.parametrize(("has_unlocked", "names"), [(True, TOOLS), (False, TOOLS[:5])])
def test_tools_that_appeared_in_the_course_are_declared_too(
    export: Any, has_unlocked: bool, names: tuple[str, ...]
):
    made = unlocking([[edit()], [act("start_debugger")], [done()]], turn=1)
    if not has_unlocked:
        made = replace(made, events=tuple(one for one in made.events if not isinstance(one, Unlocked)))
    assert tuple(tool["function"]["name"] for tool in export(made)["tools"]) == names
    declared = atif.export(made)["agent"]["tool_definitions"]
    assert tuple(tool["function"]["name"] for tool in declared) == names


def test_a_call_that_does_not_parse_is_context_and_not_learnt():
    turns = [message for message in sft.export(malformed())["messages"] if message["role"] == "assistant"]
    assert [turn["train"] for turn in turns] == [False, True, True]
    assert turns[0]["tool_calls"][0]["function"]["arguments"] == {"INVALID_JSON": '{"command": '}
    assert turns[0]["reasoning_content"] == "Hm."
    assert turns[1]["tool_calls"][1]["function"]["arguments"]["path"] == "shop/cart.py"


def test_words_of_the_harness_that_follow_each_other_are_one_message():
    users = [
        message["content"] for message in sft.export(malformed())["messages"] if message["role"] == "user"
    ]
    assert users == ["Repair it.", "Go on.\n\nReally."]


def test_exact_tokens_travel_with_their_turns():
    made = episode([[act("bash")], [done()]])
    first = made.events[0]
    assert isinstance(first, Replied)
    tokens = TokenIds(prompt=(1, 2), sampled=(3,), logprobs=(-0.5,), version="7")
    made = replace(made, events=(replace(first, reply=replace(first.reply, tokens=tokens)), *made.events[1:]))
    assert sft.export(made)["tokens"] == [
        {"prompt": [1, 2], "sampled": [3], "logprobs": [-0.5], "version": "7"},
        None,
    ]
    metrics = atif.export(made)["steps"][1]["metrics"]
    assert (metrics["prompt_token_ids"], metrics["completion_token_ids"]) == ([1, 2], [3])


def test_a_turn_whose_calls_were_not_all_answered_is_left_out():
    messages = sft.export(killed())["messages"]
    whole = sft.export(debugged())["messages"]
    assert messages == whole[: len(messages)]
    assert whole[len(messages)]["tool_calls"][0]["function"]["name"] == "done"


def test_an_episode_without_a_turn_cannot_be_exported():
    made = debugged()
    with pytest.raises(ExportError, match="no turn of a model"):
        sft.export(replace(made, events=made.events[:1]))


def test_provenance_counts_hidden_tests_and_says_how_it_came_out():
    about = sft.export(debugged())["metadata"]
    assert about["tests"]["hidden"] == [3, 3]
    assert (about["solved"], about["exit_reason"], about["failure"]) == (True, "done", None)


AGENT_ONLY = {"model_name", "reasoning_content", "tool_calls", "metrics"}
STEP_KEYS = AGENT_ONLY | {
    "step_id",
    "timestamp",
    "source",
    "message",
    "observation",
    "llm_call_count",
    "extra",
}


def test_a_trajectory_keeps_the_rules_of_its_format(made: Episode):
    trajectory = atif.export(made)
    assert trajectory["schema_version"] == "ATIF-v1.7"
    steps = trajectory["steps"]
    assert [step["step_id"] for step in steps] == list(range(1, len(steps) + 1))
    assert trajectory["final_metrics"]["total_steps"] == len(steps)
    for step in steps:
        assert set(step) <= STEP_KEYS
        assert datetime.fromisoformat(step["timestamp"]).tzinfo is not None
        if step["source"] != "agent":
            assert not AGENT_ONLY & set(step)
        calls = [call["tool_call_id"] for call in step.get("tool_calls", ())]
        results = step.get("observation", {"results": []})["results"]
        assert [result["source_call_id"] for result in results] == calls
    json.dumps(trajectory, allow_nan=False)


def test_a_trajectory_adds_up_tokens_and_keeps_what_does_not_parse():
    trajectory = atif.export(malformed())
    agent = [step for step in trajectory["steps"] if step["source"] == "agent"]
    assert agent[0]["metrics"]["prompt_tokens"] == 160  # 100 plain, 50 read from a cache, 10 written to it
    assert agent[0]["metrics"]["cached_tokens"] == 50
    assert trajectory["final_metrics"]["total_prompt_tokens"] == 480
    [call] = agent[0]["tool_calls"]
    assert (call["arguments"], call["extra"]["raw"]) == ({}, '{"command": ')


def test_a_pause_is_one_step_of_two_requests():
    agent = [step for step in atif.export(paused())["steps"] if step["source"] == "agent"]
    assert agent[0]["llm_call_count"] == 2
    assert agent[0]["message"] == "Thinking.\nLet me see it fail."
    assert len(agent) == sum(isinstance(event, Replied) for event in debugged().events)


def test_nothing_but_the_conversation_is_exported():
    """The facts of results are for metrics: a model has not seen them, and none is to learn them."""
    made = debugged()
    events = tuple(
        replace(event, result=replace(event.result, facts={"secret": "for-metrics-only"}))
        if isinstance(event, Answered)
        else event
        for event in made.events
    )
    for export in (atif.export, sft.export, openai_chat.export):
        assert "for-metrics-only" not in json.dumps(export(replace(made, events=events)))
