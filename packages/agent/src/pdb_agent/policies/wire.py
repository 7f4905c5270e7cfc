"""Small readings of JSON that came over the wire, where any field may be missing or of another kind."""

import json
from collections.abc import Mapping
from typing import Any, cast


def as_json(value: object) -> str:
    """Compact JSON with its characters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def count(fields: Mapping[str, Any], key: str) -> int:
    """A number of tokens; 0 where there is none."""
    value = fields.get(key)
    return value if isinstance(value, int) and value > 0 else 0


def object_at(fields: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """A nested object; empty where there is none."""
    value = fields.get(key)
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def text_at(fields: Mapping[str, Any], key: str) -> str:
    """A text; empty where there is none."""
    value = fields.get(key)
    return value if isinstance(value, str) else ""
