"""A report with values that are too big to print."""


class Matrix:
    """Stands for an array whose repr is long."""

    def __init__(self, side: int) -> None:
        self.side = side
        self.cells = [[row * side + column for column in range(side)] for row in range(side)]

    def __repr__(self) -> str:
        rows = ",\n       ".join(repr(row) for row in self.cells)
        return f"matrix([{rows}])"


def build_report(total: int) -> int:
    """Build the big values and come back with their combined size."""
    numbers = list(range(70_001, 170_001))
    names = {f"key_{index:04d}": index * 3 for index in range(5_000)}
    text = "lorem ipsum " * 4_000
    matrix = Matrix(120)
    size = len(numbers) + len(names) + len(text) + matrix.side
    return size + total
