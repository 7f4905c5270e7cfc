"""The same debugging session for everybody, and what it must have told.

A session is worth its characters only if it told the facts, so every answer is
searched for them; where a tool's own answer leaves one out, the question a
model would ask next is asked and paid for (``follow_up``).
"""

import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from bench.peers.adapter import Debugger, Place
from bench.raw_client import ClientError

PYTEST_TARGET = "tests/test_cart.py::test_cart_total"
FIRST_STOP = Place(file="shop/cart.py", line=10)
BIG_STOP = Place(file="shop/report.py", line=23)
STEPS = 20
SUMMING_LINE = 13
"""``total = total + price``: a step over it must say what became of ``total``."""
TOTALS = (985, 3095, 6908, 7531, 8454)
"""What that line gives, in order."""
STEPPED_LINES = {"cart.py": range(10, 18), "pricing.py": range(24, 31)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Something an answer must hold: every pattern has to be found."""

    name: str
    patterns: tuple[str, ...]
    follow_up: tuple[str, ...] = ()
    """Expressions that a model would evaluate if it was not told."""

    def told_by(self, text: str) -> bool:
        """Whether the text holds the fact."""
        return all(re.search(pattern, text, re.DOTALL) for pattern in self.patterns)


LOCALS = Fact(
    name="locals: shipping and the first line of the cart",
    patterns=(r"shipping.{0,40}\b499\b|^[^a-z]*499\b", r"pear.{0,30}\b137\b"),
    follow_up=("shipping", "lines"),
)
EVALUATED = (
    Fact(name="len(lines)", patterns=(r"\b5\b",)),
    Fact(name="shipping + 1000", patterns=(r"\b1499\b",)),
    Fact(
        name="sum(line.quantity for line in lines)",
        patterns=(r"\b57\b",),
        follow_up=("sum(map(lambda line: line.quantity, lines))",),
    ),
)
STACK = Fact(name="stack: both callers", patterns=(r"cart_total", r"test_cart\.py.{0,60}?\b16\b"))
BIG = (
    Fact(
        name="numbers",
        patterns=(r"70_?001", r"100[,_]?000\b|\b170_?000\b"),
        follow_up=("len(numbers)", "numbers[:3]"),
    ),
    Fact(
        name="names",
        patterns=(r"key_0000", r"\b5[,_]?000\b|key_4999"),
        follow_up=("len(names)", "list(names)[:3]"),
    ),
    Fact(
        name="text",
        patterns=(r"lorem ipsum", r"\b48[,_]?000\b|(?:lorem ipsum ?){4000}"),
        follow_up=("len(text)", "text[:30]"),
    ),
    Fact(name="matrix", patterns=(r"[Mm]atrix", r"\b120\b"), follow_up=("type(matrix)", "matrix.side")),
)
FAILED = Fact(
    name="the test failed", patterns=(r"161580|1 failed|AssertionError|exit\W?[Cc]ode\W{1,4}1\b|SystemExit",)
)


def total_became(value: int) -> Fact:
    """What a step over the summing line is there to tell."""
    return Fact(name=f"total became {value}", patterns=(rf"\b{value}\b",), follow_up=("total",))


@dataclass(slots=True, kw_only=True)
class SessionRecord:
    """What one debugger gave and took for the whole workload."""

    debugger: str
    server_seconds: float = 0.0
    first_stop_seconds: float = 0.0
    step_seconds: list[float] = field(default_factory=list[float])
    locals_seconds: float = 0.0
    evaluate_seconds: list[float] = field(default_factory=list[float])
    characters: dict[str, int] = field(default_factory=dict[str, int])
    """Per part of the session, follow-ups included."""
    largest_answer: dict[str, int] = field(default_factory=dict[str, int])
    facts: dict[str, bool] = field(default_factory=dict[str, bool])
    follow_ups: int = 0
    calls: int = 0
    stray_lines: int = 0
    broken: str | None = None
    """Why the session could not be finished; None when it was."""

    @property
    def total_characters(self) -> int:
        """What the model read in all."""
        return sum(self.characters.values())

    @property
    def facts_told(self) -> int:
        """How many facts were told, follow-ups included."""
        return sum(self.facts.values())


class Session:
    """Plays the workload on one debugger and keeps the record."""

    def __init__(self, debugger: Debugger) -> None:
        self._debugger = debugger
        self.record = SessionRecord(debugger=debugger.name)

    def play(self) -> SessionRecord:
        """The whole session. A debugger that breaks keeps what it had told until then."""
        record = self.record
        try:
            record.server_seconds = self._debugger.open()
            self._begin()
            self._step()
            self._ask()
            self._look_at_big_values()
            self._finish()
        except ClientError as error:
            record.broken = str(error)
        finally:
            record.calls = len(self._debugger.calls)
            record.stray_lines = self._debugger.client.stray_lines
            self._debugger.close()
        return record

    def _begin(self) -> None:
        debugger, record = self._debugger, self.record
        with self._part("start"):
            mark = len(debugger.calls)
            text = debugger.start([FIRST_STOP, BIG_STOP])
            record.first_stop_seconds = sum(call.seconds for call in debugger.calls[mark:])
            self._note_place("first stop", text, [10], "cart.py")
        with self._part("locals"):
            mark = len(debugger.calls)
            text = debugger.local_names()
            record.locals_seconds = sum(call.seconds for call in debugger.calls[mark:])
            self._check(LOCALS, text)

    def _step(self) -> None:
        debugger, record = self._debugger, self.record
        with self._part("step into"):
            text = debugger.step_into()
            self._note_place("step into", text, [24, 25, 26], "pricing.py")
        totals = iter(TOTALS)
        with self._part("step over"):
            for number in range(1, STEPS + 1):
                before = debugger.location(text)
                mark = len(debugger.calls)
                text = debugger.step_over()
                record.step_seconds.append(sum(call.seconds for call in debugger.calls[mark:]))
                here = debugger.location(text)
                record.facts[f"step {number}"] = here is not None and here.line in STEPPED_LINES.get(
                    here.file, ()
                )
                if before == Place(file="cart.py", line=SUMMING_LINE):
                    self._check(total_became(next(totals)), text)

    def _ask(self) -> None:
        debugger = self._debugger
        with self._part("evaluate"):
            for fact in EVALUATED:
                mark = len(debugger.calls)
                text = debugger.evaluate(fact.name)
                self.record.evaluate_seconds.append(sum(call.seconds for call in debugger.calls[mark:]))
                self._check(fact, text)
        with self._part("stack"):
            self._check(STACK, debugger.stack())

    def _look_at_big_values(self) -> None:
        with self._part("resume"):
            self._note_place("second breakpoint", self._debugger.resume(), [23], "report.py")
        with self._part("big values"):
            for fact in BIG:
                self._check(fact, self._debugger.show(fact.name))

    def _finish(self) -> None:
        with self._part("end"):
            self._check(FAILED, self._debugger.resume())
            self._debugger.end()

    @contextmanager
    def _part(self, name: str) -> Generator[None]:
        calls = self._debugger.calls
        mark = len(calls)
        try:
            yield
        finally:
            sizes = [call.characters for call in calls[mark:]]
            self.record.characters[name] = sum(sizes)
            self.record.largest_answer[name] = max(sizes, default=0)

    def _note_place(self, name: str, text: str, lines: Sequence[int], file: str) -> None:
        here = self._debugger.location(text)
        self.record.facts[name] = here is not None and here.file == file and here.line in lines

    def _check(self, fact: Fact, text: str) -> None:
        told = fact.told_by(text)
        if not told:
            for expression in fact.follow_up:
                text += "\n" + self._debugger.evaluate(expression)
                self.record.follow_ups += 1
            told = fact.told_by(text)
        self.record.facts[fact.name] = told
