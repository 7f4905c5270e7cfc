"""A tokenizer that keeps what a template writes apart from what people and tools say."""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from tokenizers import Tokenizer

from pdb_trainer.errors import RendererError

_CACHED_TEXTS = 4096
"""A conversation is rendered anew for every turn; most of its texts were there the turn before."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a rendered conversation."""

    text: str
    is_said: bool = False
    """True for text of users, tools and the model, in which no added token is ever recognised."""


def markup(text: str) -> Piece:
    """What the template itself writes: names of added tokens in it are those tokens."""
    return Piece(text)


def said(text: str) -> Piece:
    """What somebody said: text and nothing else, whatever it looks like."""
    return Piece(text, is_said=True)


class TextTokenizer:
    """Tokenises pieces, as the whole would be tokenised if nobody had said the name of a token."""

    def __init__(self, tokenizer_json: Path) -> None:
        """Raises RendererError when the file is no tokenizer, or its tokens cannot be kept out of text."""
        source = _read(tokenizer_json)
        fields = json.loads(source)
        self.hash = hashlib.sha256(source).hexdigest()
        self._whole = Tokenizer.from_str(source.decode())
        self._plain = Tokenizer.from_str(json.dumps({**fields, "added_tokens": [], "post_processor": None}))
        added = self._whole.get_added_tokens_decoder()
        self._added = {token.content: index for index, token in added.items()}
        names = sorted(self._added, key=len, reverse=True)
        self._names = re.compile("|".join(map(re.escape, names)) or r"(?!)")
        self._encode_plain = lru_cache(_CACHED_TEXTS)(self._encode_plain_anew)
        self._check_plain(tokenizer_json)

    def token(self, name: str) -> int | None:
        """The id of an added token; None if there is no such token."""
        return self._added.get(name)

    def encode(self, pieces: Sequence[Piece]) -> list[int]:
        """Ids of pieces that follow each other; text between two added tokens is tokenised as one."""
        ids: list[int] = []
        waiting: list[str] = []
        for piece in pieces:
            begin = 0
            for name in () if piece.is_said else self._names.finditer(piece.text):
                waiting.append(piece.text[begin : name.start()])
                ids += self._encode_plain("".join(waiting))
                ids.append(self._added[name[0]])
                waiting, begin = [], name.end()
            waiting.append(piece.text[begin:])
        return [*ids, *self._encode_plain("".join(waiting))]

    def encode_template(self, text: str) -> list[int]:
        """Ids of a text in which the names of added tokens are tokens, as every server does it."""
        return self._whole.encode(text, add_special_tokens=False).ids

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids, added tokens included; ids without a text are left out."""
        return self._whole.decode(list(ids), skip_special_tokens=False)

    def _encode_plain_anew(self, text: str) -> tuple[int, ...]:
        whole = text.encode("utf-8", "replace").decode()  # half of a surrogate pair is no text
        return tuple(self._plain.encode(whole, add_special_tokens=False).ids) if text else ()

    def _check_plain(self, source: Path) -> None:
        ids = frozenset(self._added.values())
        for name in self._added:
            if ids.intersection(self._encode_plain_anew(name)):
                raise RendererError(
                    f"{source}: the text {name!r} cannot be told from the token of that name, so a tool's "
                    "output could forge a turn: use a model whose tokenizer can write it as plain text."
                )


def _read(path: Path) -> bytes:
    try:
        source = path.read_bytes()
        fields = cast("object", json.loads(source))
    except (OSError, ValueError) as error:
        raise RendererError(
            f"{path} cannot be read as a tokenizer ({error}): give a model's folder with tokenizer.json."
        ) from error
    if not isinstance(fields, dict) or "model" not in cast("dict[str, Any]", fields):
        raise RendererError(f"{path} is no tokenizer: it has no model. Give a model's folder.")
    return source
