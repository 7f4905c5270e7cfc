"""The codec of the Debug Adapter Protocol."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_pdb.dap_codec import MAX_BODY_BYTES, DapFormatError, Decoder, encode

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
MESSAGES = st.lists(st.dictionaries(st.text(), JSON, max_size=4), max_size=5)


@given(MESSAGES, st.lists(st.integers(min_value=1, max_value=40), min_size=1))
def test_messages_survive_any_chunking(messages, sizes):
    data = b"".join(encode(message) for message in messages)
    decoder = Decoder()
    found = []
    turn = 0
    while data:
        size = sizes[turn % len(sizes)]
        found += decoder.feed(data[:size])
        data = data[size:]
        turn += 1
    assert found == messages


def test_a_message_with_more_headers_is_understood():
    body = b'{"type":"event"}'
    header = b"Content-Type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
    assert Decoder().feed(header + body) == [{"type": "event"}]


@pytest.mark.parametrize(
    "data",
    [
        b"Content-Length: twelve\r\n\r\n",
        b"Something: else\r\n\r\n{}",
        b"Content-Length: 3\r\n\r\nnot",
        b"Content-Length: 2\r\n\r\n[]",
        b"Content-Length: %d\r\n\r\n" % (MAX_BODY_BYTES + 1),
        b"x" * 5000,
    ],
)
def test_other_bytes_are_refused(data):
    with pytest.raises(DapFormatError):
        Decoder().feed(data)
