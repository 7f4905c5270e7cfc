"""A page of text, and the menu that changes it."""

from editor.menu import Entry, Menu

ENTRIES = (
    Entry("u", "Upper case", "upper"),
    Entry("b", "Bold", "wrap", ("**", "**")),
    Entry("q", "Quote", "wrap", ("> ", "")),
    Entry("s", "Swap case", "swap"),
    Entry("n", "Number the lines", "number", (". ",)),
    Entry("c", "Clear", "clear"),
)


class Page:
    """A text that is changed as a whole."""

    def __init__(self, text: str) -> None:
        self.text = text
        commands = {
            "upper": self.upper,
            "swap": self.swap,
            "wrap": self.wrap,
            "number": self.number,
            "clear": self.clear,
        }
        self.menu = Menu(ENTRIES, commands)

    def upper(self) -> None:
        """Write everything in capitals."""
        self.text = self.text.upper()

    def swap(self) -> None:
        """Turn capitals into small letters and small letters into capitals."""
        self.text = self.text.swapcase()

    def wrap(self, before: str, after: str) -> None:
        """Put something around the text."""
        self.text = f"{before}{self.text}{after}"

    def number(self, mark: str) -> None:
        """Put its number and the mark before every line."""
        lines = enumerate(self.text.splitlines(), 1)
        self.text = "\n".join(f"{number}{mark}{line}" for number, line in lines)

    def clear(self) -> None:
        """Begin anew."""
        self.text = ""
