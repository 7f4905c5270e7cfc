"""A sampler in this process, for small models: same weights, prompt and seed, same reply.

Several requests are drawn at once. Who asks first and how long a tool takes changes which requests share a
batch, and never what comes out: with ``lockstep`` for certain, without it as far as the kernels make a
row's sums in the same order in any batch (see ``local_decoding``), and in float64 for all practical ends.
"""

import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

import anyio
import anyio.lowlevel
import anyio.to_thread
from transformers import PreTrainedConfig

from pdb_trainer.errors import SamplerError
from pdb_trainer.local_decoding import CausalModel, Decoder, Drawn
from pdb_trainer.sampler import Sampled, SampleRequest

_STEPS = 16
"""Tokens of every row between two looks at who else waits."""
_NO_EPISODE = ""
_episode: ContextVar[str] = ContextVar("episode", default=_NO_EPISODE)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSettings:
    """How to draw."""

    context_tokens: int
    """Prompt and reply together may have so many tokens."""
    rows: int = 32
    """Replies that are drawn at once; further ones wait."""
    lockstep: bool = False
    """Draw only when every registered episode waits for a reply, and in an order that time has no part in."""
    prefix_bytes: int = 512 * 1024 * 1024
    """For keys and values of conversations that may go on; 0 computes every prompt anew."""


@dataclass(slots=True, kw_only=True, eq=False)
class _Ticket:
    """A request that waits for its reply."""

    episode: str
    request: SampleRequest
    outcome: Drawn | SamplerError | None = None
    version: str = ""
    woken: anyio.Event = field(default_factory=anyio.Event)

    @property
    def order(self) -> tuple[str, int, tuple[int, ...]]:
        """By what is asked and never by when."""
        return self.episode, self.request.seed or 0, self.request.prompt


class LocalSampler:
    """A sampler (see ``sampler.Sampler``) over a model in this process.

    It has no task of its own: one of those who wait for a reply draws for all of them, in a thread.
    """

    def __init__(self, model: CausalModel, settings: LocalSettings, *, version: str = "base") -> None:
        """``model`` takes a cache as transformers' causal language models do, and stays the caller's.

        Raises SamplerError for one that cannot be drawn from so.
        """
        _check_model(model, settings.context_tokens)
        self._settings = settings
        self._version = version
        self._make_decoder = lambda: Decoder(model, rows=settings.rows, prefix_bytes=settings.prefix_bytes)
        self._decoder = self._make_decoder()
        self._registered: set[str] = set()
        self._waiting: list[_Ticket] = []
        """Until every episode waits; with lockstep only."""
        self._queue: list[_Ticket] = []
        """May be drawn when there is a free row."""
        self._running: dict[int, _Ticket] = {}
        """By number of the request."""
        self._abandoned: set[int] = set()
        self._begun = 0
        self._is_drawing = False
        self._is_held = False
        self._renewing = anyio.Lock()
        self._paused = anyio.Event()

    @property
    def version(self) -> str:
        """Name of the weights that the next request is drawn with."""
        return self._version

    @property
    def context_tokens(self) -> int:
        """Prompt and reply together may have so many tokens."""
        return self._settings.context_tokens

    @asynccontextmanager
    async def episode(self, key: str) -> AsyncGenerator[None]:
        """Register an episode, or a worker that runs one after the other, for as long as the block lasts.

        With lockstep nothing is drawn while one of the registered is busy with something else, so an episode
        in its block must not wait for another's end. Register all that begin together before the first of
        them asks. Raises SamplerError for a key that is registered.
        """
        if not key or key in self._registered:
            raise SamplerError(f"There is an episode {key!r} already: give each one a key of its own.")
        self._registered.add(key)
        token = _episode.set(key)
        try:
            yield
        finally:
            _episode.reset(token)
            self._registered.discard(key)
            self._wake_one()

    async def sample(self, request: SampleRequest) -> Sampled:
        """Draw one reply. Raises SamplerError for a request that cannot be drawn."""
        began = time.monotonic()
        ticket = _Ticket(episode=_episode.get(), request=request)
        self._check(ticket)
        (self._waiting if self._settings.lockstep else self._queue).append(ticket)
        try:
            while ticket.outcome is None:
                if self._may_draw():
                    await self._draw_until_done(ticket)
                else:
                    await ticket.woken.wait()
                    ticket.woken = anyio.Event()
        finally:
            self._give_up(ticket)
            self._wake_one()
        if isinstance(ticket.outcome, Drawn):
            return _sampled(ticket.outcome, ticket.version, time.monotonic() - began)
        raise ticket.outcome

    async def renew(self, version: str, change: Callable[[], object] | None = None) -> None:
        """Go over to new weights between two replies: no reply is drawn with both.

        ``change`` puts them into the model, if that has not been done; what was computed with the old ones is
        forgotten. Requests that come meanwhile wait for the new weights.
        """
        async with self._renewing:
            self._is_held = True
            try:
                while self._running or self._is_drawing:
                    await self._paused.wait()
                if change is not None:
                    change()
                self._decoder.forget()
                self._version = version
            finally:
                self._is_held = False
                self._wake_one()

    async def aclose(self) -> None:
        """Free what is kept of conversations; idempotent."""
        self._decoder.forget()

    def _check(self, ticket: _Ticket) -> None:
        request = ticket.request
        if not request.prompt or request.max_tokens < 1 or request.temperature < 0:
            raise SamplerError(
                f"Nothing can be drawn after {len(request.prompt)} tokens, at most {request.max_tokens}, at "
                f"temperature {request.temperature}: give a prompt, room and a temperature of at least 0."
            )
        if len(request.prompt) + request.max_tokens > self.context_tokens:
            raise SamplerError(
                f"A prompt of {len(request.prompt)} tokens and a reply of {request.max_tokens} are more than "
                f"the {self.context_tokens} of the context: shorten one of them."
            )
        if self._settings.lockstep and ticket.episode == _NO_EPISODE:
            raise SamplerError(
                "With lockstep every request belongs to an episode: ask inside `async with "
                "sampler.episode(key)`."
            )

    def _is_ready(self) -> bool:
        """Whether there is a reply to begin."""
        return bool(self._queue) or (
            bool(self._waiting) and self._registered <= {ticket.episode for ticket in self._waiting}
        )

    def _may_draw(self) -> bool:
        return not self._is_drawing and (bool(self._running) or (not self._is_held and self._is_ready()))

    async def _draw_until_done(self, ticket: _Ticket) -> None:
        """Draw for everybody until one's own reply is there."""
        self._is_drawing = True
        try:
            await anyio.lowlevel.checkpoint()  # others who are about to ask do
            while ticket.outcome is None and (self._running or (not self._is_held and self._is_ready())):
                self._decoder.drop(frozenset(self._abandoned))
                self._abandoned.clear()
                begun = self._begin()
                with anyio.CancelScope(shield=True):  # the thread cannot be stopped, and has others' replies
                    await self._draw(begun)
                await anyio.lowlevel.checkpoint()
        finally:
            self._is_drawing = False

    def _begin(self) -> list[tuple[int, SampleRequest]]:
        """The requests that get a row now."""
        if self._is_held:
            return []
        if not self._queue and not self._running and self._waiting:
            self._queue, self._waiting = sorted(self._waiting, key=lambda ticket: ticket.order), []
        free = self._settings.rows - len(self._running)
        begun = self._queue[:free]
        del self._queue[:free]
        first, self._begun = self._begun, self._begun + len(begun)
        numbered = dict(enumerate(begun, start=first))
        for ticket in begun:
            ticket.version = self._version
        self._running |= numbered
        return [(number, ticket.request) for number, ticket in numbered.items()]

    async def _draw(self, begun: Sequence[tuple[int, SampleRequest]]) -> None:
        try:
            finished = await anyio.to_thread.run_sync(self._decoder.run, begun, _STEPS)
        except (RuntimeError, IndexError, ValueError, TypeError) as error:
            self._decoder = self._make_decoder()
            for number in tuple(self._running):
                self._hand_out(number, SamplerError(f"The model could not compute a reply ({error})."))
            return
        for drawn in finished:
            self._hand_out(drawn.key, drawn)

    def _hand_out(self, number: int, outcome: Drawn | SamplerError) -> None:
        ticket = self._running.pop(number, None)
        self._abandoned.discard(number)
        if ticket is not None:
            ticket.outcome = outcome
            ticket.woken.set()

    def _give_up(self, ticket: _Ticket) -> None:
        """Whoever asked was cancelled."""
        for place in (self._waiting, self._queue):
            if ticket in place:
                place.remove(ticket)
        for number, running in tuple(self._running.items()):
            if running is ticket:
                del self._running[number]
                self._abandoned.add(number)

    def _wake_one(self) -> None:
        """Let somebody else draw, if there is something to draw; tell whoever waits for a pause of one."""
        if not self._running and not self._is_drawing:
            self._paused.set()
            self._paused = anyio.Event()
        if self._may_draw():
            waiting = (*self._running.values(), *self._queue, *self._waiting)
            waiting[0].woken.set()


def _check_model(model: CausalModel, context_tokens: int) -> None:
    config = getattr(model, "config", None)
    if not isinstance(config, PreTrainedConfig):
        return
    config = config.get_text_config()
    kinds = set(getattr(config, "layer_types", None) or ())
    if kinds - {"full_attention"} or (not kinds and getattr(config, "sliding_window", None)):
        raise SamplerError(
            f"{type(model).__name__} has layers without full attention, for which there is no cache here: "
            "let vLLM serve it."
        )
    most = getattr(config, "max_position_embeddings", None)
    if most is not None and context_tokens > most:
        raise SamplerError(
            f"The model knows contexts of at most {most} tokens, and {context_tokens} are asked for: set "
            "fewer context_tokens."
        )


def _sampled(drawn: Drawn, version: str, seconds: float) -> Sampled:
    return Sampled(
        token_ids=drawn.token_ids,
        logprobs=drawn.logprobs,
        finish="stop" if drawn.stopped else "length",
        version=version,
        request_id=f"local-{drawn.key}",
        cached_tokens=drawn.cached_tokens,
        seconds=seconds,
    )
