"""Text that nobody can hide in: what a terminal or a browser would act on is shown as a sign instead."""

import re

_ESCAPE_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_INVISIBLE = re.compile("[\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_DELETE = 0x7F
_CONTROL_PICTURES = 0x2400


def visible(text: str) -> str:
    """``text`` without colours, with control, direction and zero-width characters as visible signs."""
    text = _ESCAPE_SEQUENCE.sub("", text.replace("\r\n", "\n"))
    text = _CONTROL.sub(_picture, text)
    text = _INVISIBLE.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text)
    return _SURROGATE.sub("\ufffd", text)


def _picture(found: re.Match[str]) -> str:
    code = ord(found[0])
    return "␡" if code == _DELETE else chr(_CONTROL_PICTURES + code)
