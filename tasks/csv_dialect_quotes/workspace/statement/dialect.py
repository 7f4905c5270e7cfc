"""How a bank separates and quotes the fields of its statements."""

from dataclasses import dataclass

DELIMITERS = (";", "\t", "|", ",")


@dataclass(frozen=True)
class Dialect:
    """What stands between fields and around them."""

    delimiter: str = ","
    quote: str = '"'
    trims: bool = False

    def __post_init__(self) -> None:
        if len(self.delimiter) != 1 or len(self.quote) != 1:
            raise ValueError("Delimiter and quote are one character each.")
        if self.delimiter == self.quote:
            raise ValueError("Delimiter and quote differ.")


def guess(text: str) -> Dialect:
    """The dialect in which the first line has the most fields."""
    header = text.lstrip("\r\n").partition("\n")[0]
    delimiter = max(DELIMITERS, key=header.count)
    quote = "'" if header.startswith("'") else '"'
    return Dialect(delimiter=delimiter, quote=quote, trims=f"{delimiter} " in header)
