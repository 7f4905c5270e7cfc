import json
import socket
import struct
import threading
from datetime import datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pdb_agent.grading.boundary_wire import MESSAGE_LIMIT_BYTES, Wire, WireError, decode, encode, is_plain

ZONES = st.none() | st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.complex_numbers(allow_nan=False)
    | st.text(alphabet=st.characters())
    | st.binary()
    | st.binary().map(bytearray)
    | st.decimals(allow_nan=False)
    | st.fractions()
    | st.dates()
    | st.datetimes(timezones=ZONES)
    | st.times()
    | st.timedeltas()
    | st.uuids()
)
HASHABLE = st.integers() | st.text() | st.binary() | st.fractions() | st.tuples(st.integers(), st.text())
VALUES = st.recursive(
    SCALARS | st.sets(HASHABLE) | st.frozensets(HASHABLE),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(HASHABLE, inner),
    max_leaves=10,
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text(), inner)
        | st.fixed_dictionaries({}, optional=dict.fromkeys(("int", "dict", "set", "Decimal", "date"), inner))
    ),
    max_leaves=10,
)


def no_reference(value: Any) -> Any:
    raise WireError("a reference")


def travelled(value: Any) -> Any:
    return decode(json.loads(json.dumps(encode(value, no_reference))), no_reference)


@given(VALUES)
def test_a_plain_value_arrives_as_it_was(value: object) -> None:
    arrived = travelled(value)
    assert arrived == value
    assert type(arrived) is type(value)
    assert is_plain(value)


@given(JSON)
def test_whatever_is_decoded_is_a_value_or_an_error_of_the_wire(message: object) -> None:
    try:
        decode(message, no_reference)
    except WireError:
        pass


@pytest.mark.parametrize(
    "message",
    [
        {"int": "zz"},
        {"int": "1" * 20_000},
        {"float": [1]},
        {"dict": [1]},
        {"dict": [[], None]},
        {"dict": [None]},
        {"set": [[]]},
        {"Decimal": 5},
        {"datetime": [1, 2]},
        {"date": [0, 0, 0]},
        {"deque": []},
        {"eval": "1"},
        {"int": "0x1", "float": "0x1"},
        {},
        5,
        {"ref": 5},
        {"PosixPath": None},
    ],
)
def test_what_no_sender_sends_is_refused(message: object) -> None:
    with pytest.raises(WireError):
        decode(message, no_reference)


def test_subclasses_of_plain_types_do_not_travel_by_value() -> None:
    class Text(str):
        pass

    class Whole(int):
        pass

    for value in (Text("x"), Whole(1)):
        assert not is_plain(value)
        assert encode(value, lambda found: {"handle": 1}) == {"ref": {"handle": 1}}


def test_a_moment_keeps_its_zones_name_and_fold() -> None:
    moment = datetime(2024, 1, 1, fold=1, tzinfo=timezone(timedelta(hours=1), "Here"))
    arrived = travelled(moment)
    assert (arrived.tzname(), arrived.fold) == ("Here", 1)
    assert travelled(time(1, 2, fold=1)).fold == 1


def test_numbers_keep_their_kind() -> None:
    assert repr(travelled([1, 1.0, True, Decimal("1.00"), Fraction(2, 2), -0.0])) == (
        "[1, 1.0, True, Decimal('1.00'), Fraction(1, 1), -0.0]"
    )


def test_a_value_that_holds_itself_is_refused() -> None:
    ring: list[object] = []
    ring.append(ring)
    with pytest.raises(WireError, match="deeply"):
        encode(ring, no_reference)


@pytest.mark.parametrize("piece_bytes", [1, 3, 1000])
def test_messages_survive_any_chunking(piece_bytes: int) -> None:
    messages = [{"a": "x" * size} for size in (0, 10, 2000)]
    data = b"".join(
        struct.pack("!I", len(body)) + body for body in (json.dumps(message).encode() for message in messages)
    )
    ours, theirs = socket.socketpair()
    with ours, theirs:

        def write() -> None:
            for start in range(0, len(data), piece_bytes):
                theirs.sendall(data[start : start + piece_bytes])

        writer = threading.Thread(target=write)
        writer.start()
        wire = Wire(ours)
        assert [wire.receive() for _ in messages] == messages
        writer.join()


def test_an_announced_length_beyond_the_limit_is_refused_before_it_is_read() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(struct.pack("!I", MESSAGE_LIMIT_BYTES + 1))
        with pytest.raises(WireError, match="too large"):
            Wire(ours).receive()
        with pytest.raises(WireError, match="too large"):
            Wire(ours).send("x" * (MESSAGE_LIMIT_BYTES + 1))


@pytest.mark.parametrize("body", [b"{", b"\xff", b"[" * 100_000, b"NaN x"])
def test_what_is_not_json_is_refused(body: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(struct.pack("!I", len(body)) + body)
        with pytest.raises(WireError, match="not JSON"):
            Wire(ours).receive()


def test_the_end_of_the_other_side_is_the_end_of_the_file() -> None:
    ours, theirs = socket.socketpair()
    with ours:
        theirs.sendall(b"\0\0")
        theirs.close()
        with pytest.raises(EOFError):
            Wire(ours).receive()
