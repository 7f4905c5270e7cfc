"""Programs of the gym that go through a list or a pair of numbers."""

from pdb_agent.procedural.draw import Draw
from pdb_agent.procedural.shape import Arguments, Operation, Shape, Slot
from pdb_agent.procedural.words import sequence_names, sum_name

_CANDIDATES = 48


def past_cutoff(draw: Draw) -> Shape:
    """Score the items above a cutoff."""
    cutoff, points, gathered = draw.number(3, 30), draw.number(1, 9), sum_name(draw)
    values, value = sequence_names(draw)
    base = draw.number(0, 6)
    return Shape(
        name="past_cutoff",
        text=f'''\
def $function({values}: list[int]) -> int:
    """{base}, and {points} more for each of the {values} above {cutoff}."""
    {gathered} = $fix_init
    for {value} in {values}:
        if {value} $fix_compare {cutoff}:
            {gathered} += {points}
    return {gathered}
''',
        slots=(
            Slot(operation=Operation.INIT, right=str(base), other=str(base + draw.number(1, 3))),
            Slot(operation=Operation.COMPARE, right=">", other=">=", miss="!="),
        ),
        inputs=_lists(draw, 0, 7, (cutoff,)),
    )


def furthest(draw: Draw) -> Shape:
    """Find an extreme item by going through all of them."""
    values, value = sequence_names(draw)
    right, other, word = draw.pick(((">", "<", "largest"), ("<", ">", "smallest")))
    best, factor = draw.pick(("best", "kept", "chosen", "leading")), draw.number(1, 9)
    low, high = (-40, -2) if right == ">" else (2, 40)
    return Shape(
        name="furthest",
        text=f'''\
def $function({values}: list[int]) -> int:
    """{factor} times the {word} of the {values}, of which there is at least one."""
    {best} = $fix_init
    for {value} in {values}:
        if {value} $fix_minmax {best}:
            {best} = {value}
    return {factor} * {best}
''',
        slots=(
            Slot(operation=Operation.INIT, right=f"{values}[0]", other="0", miss="1"),
            Slot(operation=Operation.MINMAX, right=right, other=other, miss="=="),
        ),
        inputs=tuple(
            (draw.numbers(draw.number(1, 7), low, high if draw.number(0, 3) else 40),)
            for _ in range(_CANDIDATES)
        ),
    )


def clamped_sum(draw: Draw) -> Shape:
    """Add up items held between two bounds."""
    low = draw.number(-5, 5)
    high, base, gathered = low + draw.number(4, 20), draw.number(0, 9), sum_name(draw)
    values, value = sequence_names(draw)
    return Shape(
        name="clamped_sum",
        text=f'''\
def $function({values}: list[int]) -> int:
    """{base} plus the sum of the {values}, each held between {low} and {high}."""
    {gathered} = $fix_init
    for {value} in {values}:
        {gathered} += $fix_minmax
    return {gathered}
''',
        slots=(
            Slot(operation=Operation.INIT, right=str(base), other=str(base + draw.number(1, 3))),
            Slot(
                operation=Operation.MINMAX,
                right=f"max({low}, min({value}, {high}))",
                other=f"min({low}, max({value}, {high}))",
                miss=f"max({value}, {high})",
            ),
        ),
        inputs=_lists(draw, 1, 6, (low, high)),
    )


def mean_past(draw: Draw) -> Shape:
    """Average the items from a cutoff on."""
    cutoff, fallback = draw.number(3, 20), draw.number(0, 9)
    values, value = sequence_names(draw)
    gathered = sum_name(draw)
    return Shape(
        name="mean_past",
        text=f'''\
def $function({values}: list[int]) -> int:
    """The mean, rounded down, of the {values} of at least {cutoff}; {fallback} if there are none."""
    {gathered} = $fix_init
    count = 0
    for {value} in {values}:
        if {value} $fix_compare {cutoff}:
            {gathered} += {value}
            count += 1
    return $fix_zero
''',
        slots=(
            Slot(operation=Operation.INIT, right="0", other=str(draw.number(5, 9)), miss=str(cutoff)),
            Slot(operation=Operation.COMPARE, right=">=", other=">", miss="=="),
            Slot(
                operation=Operation.ZERO,
                right=f"{gathered} // count if count else {fallback}",
                other=f"{gathered} // count",
                miss=f"{gathered} // count if count > 1 else {fallback}",
            ),
        ),
        inputs=_lists(draw, 0, 5, (cutoff,)),
    )


def share(draw: Draw) -> Shape:
    """Say which part of the whole lies under a cutoff."""
    cutoff, scale, fallback = draw.number(4, 20), draw.pick((10, 50, 100, 360, 1000)), draw.number(0, 9)
    values, value = sequence_names(draw)
    under = draw.pick(("under", "part", "below", "portion"))
    return Shape(
        name="share",
        text=f'''\
def $function({values}: list[int]) -> int:
    """Which of {scale} parts of the sum of {values} those under {cutoff} make; {fallback} of none."""
    whole = sum({values})
    {under} = $fix_init
    for {value} in {values}:
        if {value} $fix_compare {cutoff}:
            {under} += {value}
    return $fix_zero
''',
        slots=(
            Slot(operation=Operation.INIT, right="0", other=str(draw.number(2, 5))),
            Slot(operation=Operation.COMPARE, right="<", other="<=", miss="!="),
            Slot(
                operation=Operation.ZERO,
                right=f"{scale} * {under} // whole if whole else {fallback}",
                other=f"{scale} * {under} // whole",
                miss=f"{scale} * {under} // whole if {under} else {fallback}",
            ),
        ),
        inputs=_zeros(draw) + tuple(_positive(draw, cutoff) for _ in range(_CANDIDATES)),
    )


def longest_run(draw: Draw) -> Shape:
    """Find the longest run of items above a cutoff."""
    cutoff, scale = draw.number(3, 20), draw.number(1, 9)
    values, value = sequence_names(draw)
    current, longest = draw.pick((("current", "longest"), ("now", "most"), ("streak", "record")))
    return Shape(
        name="longest_run",
        text=f'''\
def $function({values}: list[int]) -> int:
    """{scale} times the length of the longest run of {values} above {cutoff}."""
    {longest} = 0
    {current} = $fix_init
    for {value} in {values}:
        {current} = {current} + 1 if {value} $fix_compare {cutoff} else 0
        {longest} = $fix_minmax({longest}, {current})
    return {scale} * {longest}
''',
        slots=(
            Slot(operation=Operation.INIT, right="0", other="1", miss="2"),
            Slot(operation=Operation.COMPARE, right=">", other=">=", miss="!="),
            Slot(operation=Operation.MINMAX, right="max", other="min"),
        ),
        inputs=_lists(draw, 1, 9, (cutoff, cutoff + 1)),
    )


def spread(draw: Draw) -> Shape:
    """The distance between the extremes of the items under a cutoff."""
    cutoff, fallback = draw.number(8, 30), draw.number(1, 9)
    values, value = sequence_names(draw)
    kept = draw.pick(("kept", "taken", "chosen"))
    return Shape(
        name="spread",
        text=f'''\
def $function({values}: list[int]) -> int:
    """The largest less the smallest of the {values} up to {cutoff}; {fallback} if there are none."""
    {kept} = [{value} for {value} in {values} if {value} $fix_compare {cutoff}]
    lowest = $fix_minmax({kept}, default=0)
    return $fix_zero
''',
        slots=(
            Slot(operation=Operation.COMPARE, right="<=", other="<", miss="=="),
            Slot(operation=Operation.MINMAX, right="min", other="max"),
            Slot(
                operation=Operation.ZERO,
                right=f"max({kept}) - lowest if {kept} else {fallback}",
                other=f"max({kept}) - lowest",
                miss=f"max({kept}) - lowest if lowest else {fallback}",
            ),
        ),
        inputs=_lists(draw, 0, 5, (cutoff, cutoff + 3)),
    )


def portions(draw: Draw) -> Shape:
    """How many portions a stock gives, a started one included."""
    extra, fallback = draw.number(0, 5), draw.number(0, 9)
    stock, size = draw.pick((("stock", "size"), ("pages", "lines"), ("guests", "seats"), ("meters", "reach")))
    floor = draw.number(0, 4)
    return Shape(
        name="portions",
        text=f'''\
def $function({stock}: int, {size}: int) -> int:
    """{stock} over {size}, one more if over {floor} are left, plus {extra}; {fallback} for no {size}."""
    full = $fix_zero
    left = {stock} - full * {size}
    if left $fix_compare {floor} and {size}:
        full += 1
    return full + $fix_init if {size} else {fallback}
''',
        slots=(
            Slot(operation=Operation.INIT, right=str(extra), other=str(extra + draw.number(1, 3))),
            Slot(operation=Operation.COMPARE, right=">", other=">=", miss="!="),
            Slot(
                operation=Operation.ZERO,
                right=f"{stock} // {size} if {size} else 0",
                other=f"{stock} // {size}",
                miss=f"{stock} // {size} if {size} > 1 else 0",
            ),
        ),
        inputs=tuple(_portion(draw, floor) for _ in range(_CANDIDATES)),
    )


def mean_step(draw: Draw) -> Shape:
    """The mean distance from the first item to the last."""
    values, _ = sequence_names(draw)
    scale, fallback = draw.number(1, 12), draw.number(0, 9)
    gaps = draw.pick(("gaps", "steps", "moves"))
    pick, text = draw.pick((("max", "largest"), ("min", "smallest")))
    return Shape(
        name="mean_step",
        text=f'''\
def $function({values}: list[int]) -> int:
    """{scale} times the {text} of {values} over the number of steps between; {fallback} without."""
    {gaps} = len({values}) - 1
    if {gaps} < 0:
        return {fallback}
    reach = {scale} * $fix_minmax({values})
    return $fix_zero
''',
        slots=(
            Slot(operation=Operation.MINMAX, right=pick, other="min" if pick == "max" else "max"),
            Slot(
                operation=Operation.ZERO,
                right=f"reach // {gaps} if {gaps} else {fallback}",
                other=f"reach // {gaps}",
                miss=f"reach // {gaps} if reach else {fallback}",
            ),
        ),
        inputs=_lists(draw, 0, 5, (0, 12)),
    )


def closest(draw: Draw) -> Shape:
    """The smallest or largest distance to a mark."""
    values, value = sequence_names(draw)
    mark, far = draw.number(5, 30), draw.number(60, 99)
    pick, other, word, start = draw.pick((("min", "max", "least", str(far)), ("max", "min", "greatest", "0")))
    reach = draw.pick(("reach", "gap", "distance"))
    return Shape(
        name="closest",
        text=f'''\
def $function({values}: list[int]) -> int:
    """The {word} distance of {values} from {mark}, if less than {mark} away; {start} of none."""
    {reach} = $fix_init
    for {value} in {values}:
        if abs({value} - {mark}) $fix_compare {mark}:
            {reach} = $fix_minmax({reach}, abs({value} - {mark}))
    return {reach}
''',
        slots=(
            Slot(operation=Operation.INIT, right=start, other="0" if pick == "min" else str(mark // 2)),
            Slot(operation=Operation.COMPARE, right="<", other="<=", miss="!="),
            Slot(operation=Operation.MINMAX, right=pick, other=other),
        ),
        inputs=_lists(draw, 0, 4, (mark, 1, 2 * mark)) + tuple(([2 * mark],) for _ in range(2)),
    )


def digits(draw: Draw) -> Shape:
    """Add up the digits of a number in some base."""
    base, factor, gathered = draw.number(3, 12), draw.number(1, 9), sum_name(draw)
    start = draw.number(0, 5)
    return Shape(
        name="digits",
        text=f'''\
def $function(number: int) -> int:
    """{start} plus {factor} times the sum of the digits of number, which is not negative, in base {base}."""
    {gathered} = $fix_init
    while number $fix_compare:
        {gathered} += {factor} * (number % {base})
        number //= {base}
    return {gathered}
''',
        slots=(
            Slot(operation=Operation.INIT, right=str(start), other=str(start + draw.number(1, 4))),
            Slot(operation=Operation.COMPARE, right="> 0", other="> 1", miss=f"> {base}"),
        ),
        inputs=tuple((draw.number(0, base ** draw.number(1, 4)),) for _ in range(_CANDIDATES)),
    )


def _lists(draw: Draw, least: int, most: int, near: tuple[int, ...]) -> tuple[Arguments, ...]:
    low, high = min(near) - 9, max(near) + 9
    return tuple((draw.numbers(draw.number(least, most), low, high, near=near),) for _ in range(_CANDIDATES))


def _positive(draw: Draw, cutoff: int) -> Arguments:
    return ([abs(number) for number in draw.numbers(draw.number(1, 5), 1, 2 * cutoff, near=(cutoff,))],)


def _zeros(draw: Draw) -> tuple[Arguments, ...]:
    """Lists whose sum is zero, each another one."""
    pairs = [[amount, -amount] for amount in draw.several(range(1, 20), 3)]
    return (([],), ([0] * draw.number(1, 4),), *((pair,) for pair in pairs))


def _portion(draw: Draw, floor: int) -> Arguments:
    size = draw.pick((0, 1, draw.number(floor + 2, floor + 9), draw.number(floor + 2, floor + 9)))
    return (size * draw.number(0, 6) + draw.pick((0, floor, floor + 1)), size)
