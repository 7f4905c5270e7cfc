"""Programs of the gym that count through a range."""

from pdb_agent.procedural.draw import Draw
from pdb_agent.procedural.shape import Arguments, Operation, Shape, Slot
from pdb_agent.procedural.words import sequence_names, sum_name

_CANDIDATES = 48


def multiples(draw: Draw) -> Shape:
    """Sum a term over the numbers up to a limit whose remainder is small."""
    start, modulus, factor = draw.number(1, 4), draw.number(3, 7), draw.number(2, 9)
    most, gathered = draw.number(1, modulus - 2), sum_name(draw)
    number = draw.pick(("number", "step", "position", "turn"))
    term, words = draw.pick(
        (
            (f"{factor} * {number}", f"{factor} times"),
            (f"{number} + {factor}", f"{factor} more than"),
            (f"{number} * {number}", "the square of"),
        )
    )
    return Shape(
        name="multiples",
        text=f'''\
def $function(limit: int) -> int:
    """Add up {words} each number from {start} to limit (included) that is {most} or less modulo {modulus}."""
    {gathered} = $fix_init
    for {number} in range($fix_range_start, $fix_range_end):
        if {number} % {modulus} $fix_compare {most}:
            {gathered} += {term}
    return {gathered}
''',
        slots=(
            Slot(operation=Operation.INIT, right="0", other=draw.pick(("1", str(factor)))),
            Slot(operation=Operation.RANGE_START, right=str(start), other=str(start + modulus)),
            Slot(operation=Operation.RANGE_END, right="limit + 1", other="limit", miss="limit + 2"),
            Slot(operation=Operation.COMPARE, right="<=", other="<", miss="=="),
        ),
        inputs=_single(draw, 0, 40),
    )


def product(draw: Draw) -> Shape:
    """Multiply numbers of a range, kept below a modulus."""
    start, modulus, step = draw.number(2, 5), draw.number(1000, 9999), draw.number(1, 3)
    gathered, number = sum_name(draw), draw.pick(("number", "factor", "step"))
    return Shape(
        name="product",
        text=f'''\
def $function(last: int) -> int:
    """Multiply numbers from {start} to last (included) in steps of {step}, modulo {modulus}."""
    {gathered} = $fix_init
    for {number} in range($fix_range_start, $fix_range_end, {step}):
        {gathered} = {gathered} * {number} % {modulus}
    return {gathered}
''',
        slots=(
            Slot(operation=Operation.INIT, right="1", other="0", miss="2"),
            Slot(operation=Operation.RANGE_START, right=str(start), other=str(start + 1)),
            Slot(operation=Operation.RANGE_END, right="last + 1", other="last", miss=f"last + {1 + step}"),
        ),
        inputs=_single(draw, 1, 15),
    )


def every_other(draw: Draw) -> Shape:
    """Add up every k-th item from some index on."""
    start, step, gathered = draw.number(0, 3), draw.number(1, 3), sum_name(draw)
    values, _ = sequence_names(draw)
    scale = draw.number(2, 12)
    return Shape(
        name="every_other",
        text=f'''\
def $function({values}: list[int]) -> int:
    """{scale} times the sum of the {values} at index {start} and every {step} places after it, to the end."""
    {gathered} = $fix_init
    for index in range($fix_range_start, $fix_range_end, {step}):
        {gathered} += {scale} * {values}[index]
    return {gathered}
''',
        slots=(
            Slot(operation=Operation.INIT, right="0", other=draw.pick(("1", str(scale)))),
            Slot(operation=Operation.RANGE_START, right=str(start), other=str(start + 1)),
            Slot(
                operation=Operation.RANGE_END,
                right=f"len({values})",
                other=f"len({values}) - 1",
                miss=f"len({values}) - 2",
            ),
        ),
        inputs=tuple((draw.numbers(draw.number(1, 9), -9, 30),) for _ in range(_CANDIDATES)),
    )


def rises(draw: Draw) -> Shape:
    """Count neighbours of which the second is so much larger."""
    gap, gathered = draw.number(1, 6), draw.pick(("count", "found", "rises", "pairs"))
    values, _ = sequence_names(draw)
    start = draw.number(0, 2)
    return Shape(
        name="rises",
        text=f'''\
def $function({values}: list[int]) -> int:
    """How often, from index {start} on, one of the {values} is followed by one at least {gap} larger."""
    {gathered} = $fix_init
    for index in range($fix_range_start, $fix_range_end):
        if {values}[index + 1] - {values}[index] $fix_compare {gap}:
            {gathered} += 1
    return {gathered}
''',
        slots=(
            Slot(operation=Operation.INIT, right="0", other="1", miss="2"),
            Slot(operation=Operation.RANGE_START, right=str(start), other=str(start + 1)),
            Slot(
                operation=Operation.RANGE_END,
                right=f"len({values}) - 1",
                other=f"len({values}) - 2",
                miss=f"len({values}) - 3",
            ),
            Slot(operation=Operation.COMPARE, right=">=", other=">", miss="=="),
        ),
        inputs=tuple((_stairs(draw, gap),) for _ in range(_CANDIDATES)),
    )


def grid(draw: Draw) -> Shape:
    """Add up cells of a grid that lie on some diagonals."""
    modulus, factor, gathered = draw.number(3, 6), draw.number(2, 9), sum_name(draw)
    most = draw.number(1, modulus - 2)
    return Shape(
        name="grid",
        text=f'''\
def $function(rows: int, columns: int) -> int:
    """Add up row + {factor} * column, both from 1, where row + column is {most} or less modulo {modulus}."""
    {gathered} = $fix_init
    for row in range(1, rows + 1):
        for column in range($fix_range_start, $fix_range_end):
            if (row + column) % {modulus} $fix_compare {most}:
                {gathered} += row + {factor} * column
    return {gathered}
''',
        slots=(
            Slot(operation=Operation.INIT, right="0", other=draw.pick(("1", str(factor)))),
            Slot(operation=Operation.RANGE_START, right="1", other="2", miss="0"),
            Slot(operation=Operation.RANGE_END, right="columns + 1", other="columns", miss="columns - 1"),
            Slot(operation=Operation.COMPARE, right="<=", other="<", miss=">"),
        ),
        inputs=tuple((draw.number(1, 7), draw.number(1, 7)) for _ in range(_CANDIDATES)),
    )


def capped_steps(draw: Draw) -> Shape:
    """Add up steps that grow to a cap."""
    rate, cap, gathered = draw.number(2, 7), draw.number(9, 40), sum_name(draw)
    base = draw.number(0, 5)
    day = draw.pick(("day", "round_number", "week", "lap"))
    return Shape(
        name="capped_steps",
        text=f'''\
def $function(count: int) -> int:
    """{base} plus, for each {day} from 1 to count, {rate} times the {day}, but {cap} at most."""
    {gathered} = $fix_init
    for {day} in range($fix_range_start, $fix_range_end):
        {gathered} += $fix_minmax({rate} * {day}, {cap})
    return {gathered}
''',
        slots=(
            Slot(operation=Operation.INIT, right=str(base), other=str(base + draw.number(1, 3))),
            Slot(operation=Operation.RANGE_START, right="1", other="2", miss="0"),
            Slot(operation=Operation.RANGE_END, right="count + 1", other="count", miss="count - 1"),
            Slot(operation=Operation.MINMAX, right="min", other="max"),
        ),
        inputs=_single(draw, 0, 20),
    )


def first_position(draw: Draw) -> Shape:
    """Find the first item that is large enough."""
    cutoff, start = draw.number(5, 25), draw.number(0, 2)
    values, _ = sequence_names(draw)
    found, missing = draw.pick(("found", "place", "spot")), -draw.number(1, 9)
    return Shape(
        name="first_position",
        text=f'''\
def $function({values}: list[int]) -> int:
    """The first index, from {start} on, at which the {values} reach {cutoff}; {missing} if there is none."""
    {found} = $fix_init
    for index in range($fix_range_start, $fix_range_end):
        if {values}[index] $fix_compare {cutoff}:
            {found} = index
            break
    return {found}
''',
        slots=(
            Slot(operation=Operation.INIT, right=str(missing), other="0"),
            Slot(operation=Operation.RANGE_START, right=str(start), other=str(start + 1)),
            Slot(
                operation=Operation.RANGE_END,
                right=f"len({values})",
                other=f"len({values}) - 1",
                miss=f"len({values}) - 2",
            ),
            Slot(operation=Operation.COMPARE, right=">=", other=">", miss="=="),
        ),
        inputs=tuple((_late(draw, cutoff),) for _ in range(_CANDIDATES)),
    )


def _single(draw: Draw, low: int, high: int) -> tuple[Arguments, ...]:
    return tuple((number,) for number in draw.several(range(low, high + 1), min(_CANDIDATES, high - low)))


def _stairs(draw: Draw, gap: int) -> list[int]:
    """Numbers whose steps are often exactly the gap, or next to it."""
    stairs = [draw.number(-5, 9)]
    for _ in range(draw.number(2, 7)):
        stairs.append(stairs[-1] + draw.pick((gap - 1, gap, gap, gap + 1, -gap, 0)))
    return stairs


def _late(draw: Draw, cutoff: int) -> list[int]:
    """Small numbers, then perhaps the cutoff or something next to it."""
    small = draw.numbers(draw.number(0, 5), 0, cutoff - 1)
    large = draw.numbers(draw.number(0, 2), cutoff, cutoff + 9, near=(cutoff,))
    return small + large
