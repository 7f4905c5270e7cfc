"""What of an episode is learnt, and which episodes are no conversation to learn."""

import dataclasses

import pytest
from pdb_agent.episode import Answered, Episode, Replied, Said
from pdb_agent.messages import (
    AssistantMessage,
    Call,
    Reply,
    Stop,
    ToolMessage,
    Usage,
    UserMessage,
)
from pdb_trainer.corpus.conversation import UnfitEpisodeError, conversation_of, for_people
from pdb_trainer.corpus.tokenising import tokenised
from pdb_trainer.renderers.renderer import SAMPLED_IDS
from pdb_trainer.renderers.text_tokenizer import markup

from tests.pdb_agent.episode_making import done
from tests.pdb_trainer.corpus.corpus_making import FAILING, GOOD, byte_renderer, of


def reply(text: str = "", *calls: Call, stop: Stop = Stop.CALLS) -> Replied:
    message = AssistantMessage(text=text, calls=calls)
    return Replied(at=0, turn=1, reply=Reply(message=message, stop=stop, usage=Usage(), model="m"))


def with_events(made: Episode, *events: Said | Replied | Answered) -> Episode:
    return dataclasses.replace(made, events=events)


def test_messages_come_in_the_order_in_which_they_were_said_and_end_with_the_models_last_word():
    found = conversation_of(of(*GOOD))
    kinds = [type(message) for message in found.messages]
    assert kinds == [UserMessage, AssistantMessage, *[ToolMessage, AssistantMessage] * 4]
    assert found.replies == 5
    assert found.sound == frozenset(range(5))
    assert (found.system, found.tools) == ("Repair it.", of(*GOOD).started.tools)


def test_a_conversation_may_be_cut_after_any_reply():
    found = conversation_of(of(*GOOD))
    cut = found.up_to(1)
    assert cut.messages == found.messages[:4]
    assert cut.sound == {0, 1}


def test_a_nudge_of_the_harness_is_part_of_the_conversation():
    made = of(*GOOD)
    nudge = Said(at=1.0, text="Go on.", why="idle")
    events = [*made.events[:3], nudge, *made.events[3:]]
    found = conversation_of(dataclasses.replace(made, events=tuple(events)))
    assert [type(one) for one in found.messages[:5]] == [
        UserMessage,
        AssistantMessage,
        ToolMessage,
        UserMessage,
        AssistantMessage,
    ]


def test_a_reply_that_was_cut_off_or_does_not_parse_is_context_only():
    made = of(FAILING)
    bad = Call(id="1", name="done", arguments=None, raw="{", error="The arguments do not parse.")
    good = Call(id="2", name="done", arguments={}, raw="{}")
    words = Said(at=0, text="Go on.", why="no_call")
    events = (words, reply("a", bad), words, reply("b", stop=Stop.MAX_TOKENS), words, reply("c", good))
    assert conversation_of(with_events(made, *events)).sound == {2}


def test_episodes_that_are_no_conversation_say_why():
    made = of(FAILING)
    paused = with_events(made, reply("a", stop=Stop.PAUSE), reply("b"))
    with pytest.raises(UnfitEpisodeError, match="a reply of it came in two parts"):
        conversation_of(paused)
    with pytest.raises(UnfitEpisodeError, match="two of its replies follow each other"):
        conversation_of(with_events(made, reply("a"), reply("b")))
    with pytest.raises(UnfitEpisodeError, match="no turn of a model"):
        conversation_of(with_events(made, Said(at=0, text="Repair it.", why="task")))
    with pytest.raises(UnfitEpisodeError, match="its tools changed"):
        conversation_of(of(*GOOD, toolset="unlock-after-k"))


def test_people_read_which_replies_are_trained():
    lines = for_people(conversation_of(of(*GOOD)), frozenset({1, 4}))
    assert [line["role"] for line in lines[:4]] == ["system", "user", "assistant", "tool"]
    assert [line["train"] for line in lines if line["role"] == "assistant"] == [
        False,
        True,
        False,
        False,
        True,
    ]
    assert lines[4]["calls"] == [{"name": "read_file", "arguments": {"path": "shop/cart.py"}}]


def test_the_mask_covers_what_the_chosen_replies_say_and_nothing_else(tmp_path):
    renderer = byte_renderer(tmp_path)
    found = conversation_of(of(*GOOD))
    ids, trained = tokenised(found, frozenset({1, 4}), renderer)
    spans = "".join(
        renderer.decode([int(one)]) if flag else "\0" for one, flag in zip(ids, trained, strict=True)
    )
    said = [span for span in spans.split("\0") if span]
    assert len(said) == 2
    assert '"name": "read_file"' in said[0]
    assert '"name": "done"' in said[1]
    assert all(span.endswith("<|im_end|>") and "<|im_start|>" not in span for span in said)
    everything, _ = tokenised(found, frozenset(), renderer)
    assert (everything == ids).all()


def test_sampled_ids_stay_where_this_renderer_reads_them_and_other_ids_become_text_again(tmp_path):
    renderer = byte_renderer(tmp_path)
    made = of(done())
    said = '<tool_call>\n{"arguments":  {}, "name":"done"}</tool_call>'  # spaced as no template does
    sampled = [*renderer.tokenizer.encode([markup(said)]), *renderer.tokenizer.encode([markup("<|im_end|>")])]
    parsed = renderer.parse(sampled, made.started.tools, "", cut=False)
    assert [call.name for call in parsed.calls] == ["done"]

    def ids_with(native: list[int]) -> list[int]:
        message = AssistantMessage(
            text=parsed.text, calls=parsed.calls, native=({SAMPLED_IDS: native},), native_of="policy/tiny"
        )
        first = next(event for event in made.events if isinstance(event, Replied))
        new = dataclasses.replace(first, reply=dataclasses.replace(first.reply, message=message))
        events = tuple(new if event is first else event for event in made.events)
        conversation = conversation_of(dataclasses.replace(made, events=events))
        ids, trained = tokenised(conversation, frozenset({0}), renderer)
        return [int(one) for one in ids[trained]]

    assert ids_with(sampled) == sampled
    foreign = ids_with([1, 2, 3])
    assert '{"name": "done", "arguments": {}}' in renderer.decode(foreign)
    assert foreign[-1] == sampled[-1]
