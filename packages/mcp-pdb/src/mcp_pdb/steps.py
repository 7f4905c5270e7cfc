"""One answer for several steps. Pure: no I/O."""

from dataclasses import replace

from mcp_pdb.records import Change, Stopped


def combine_steps(steps: list[Stopped], asked: int) -> Stopped:
    """The last of several steps, with what changed over all of those in its frame."""
    last = steps[-1]
    if len(steps) == 1 and asked == 1:
        return last
    same_frame = [
        step
        for step in steps
        if (step.location.file, step.location.function, step.depth)
        == (last.location.file, last.location.function, last.depth)
    ]
    notes = last.notes
    if len(steps) < asked:
        notes = (*notes, f"stopped after {len(steps)} of {asked} steps")
    return replace(last, changes=merge_changes([step.changes for step in same_frame]), notes=notes)


def merge_changes(batches: list[tuple[Change, ...]]) -> tuple[Change, ...]:
    """Changes over several stops: the first old value and the last new one of each name."""
    merged: dict[str, Change] = {}
    for change in (change for batch in batches for change in batch):
        first = merged.get(change.name)
        merged[change.name] = change if first is None else replace(change, old=first.old)
    return tuple(change for change in merged.values() if change.old is not None or change.new is not None)
