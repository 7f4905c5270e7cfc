"""The codec between server and debuggee."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_pdb.debuggee import wire

MESSAGES = st.lists(st.dictionaries(st.text(), st.none() | st.integers() | st.text()), max_size=5)


@given(messages=MESSAGES, cuts=st.lists(st.integers(min_value=1, max_value=40), min_size=1))
def test_messages_survive_any_chunking(messages, cuts):
    data = b"".join(wire.encode(message) for message in messages)
    decoder = wire.Decoder()
    received: list[object] = []
    position = index = 0
    while position < len(data):
        size = cuts[index % len(cuts)]
        received += decoder.feed(data[position : position + size])
        position += size
        index += 1
    assert received == messages


def test_lone_surrogates_of_a_program_travel():
    message = {"value": "\udce9"}
    assert wire.Decoder().feed(wire.encode(message)) == [message]


def test_a_length_over_the_limit_is_an_error_not_an_allocation():
    with pytest.raises(ValueError, match="over the limit"):
        wire.Decoder().feed(b"\xff\xff\xff\xff")
