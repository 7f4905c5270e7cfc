"""What ``pdb-agent fix`` does."""

from contextlib import AsyncExitStack
from typing import TextIO

from pdb_agent.config import ConfigError, RunConfig
from pdb_agent.episode import Ended
from pdb_agent.fixing import FixRequest, NothingToRepairError, Repair, diagnose, repair
from pdb_agent.loop import EpisodeSettings
from pdb_agent.policy import Policy
from pdb_agent.project_writing import apply_changes
from pdb_agent.run_commands import ORACLE, LiveLog, Policies, price_of

_NOTES_SHOWN = 10


async def fix(
    config: RunConfig, request: FixRequest, *, wants_apply: bool, stream: TextIO, progress: TextIO
) -> int:
    """Repair a project with the run's policy and first arm; 0 when its named tests pass and no other fails.

    The diff and the tests' verdict go to ``stream``, all else to ``progress``. Raises ConfigError, FixError,
    PolicyError, SandboxError.
    """
    name, arm = next(iter(config.arms.items()))
    wanted = arm.policy or config.policy
    if wanted.name == ORACLE:
        raise ConfigError(
            "The oracle knows the solutions of our own tasks only: name a model with --policy provider/model."
        )
    async with AsyncExitStack() as stack:
        policy = Policies(stack).open(wanted)  # a missing key is said before anything runs
        settings = EpisodeSettings(
            arm=name,
            toolset=arm.record(),
            limits=config.limits.record(),
            sampling=config.sampling.record(),
            backend=config.backend,
            price=lambda reply: price_of(policy.name, reply),
        )
        return await fix_with(
            policy, settings, request, wants_apply=wants_apply, stream=stream, progress=progress
        )


async def fix_with(
    policy: Policy,
    settings: EpisodeSettings,
    request: FixRequest,
    *,
    wants_apply: bool,
    stream: TextIO,
    progress: TextIO,
) -> int:
    """The same with a policy that is open already."""

    def tell(words: str) -> None:
        progress.write(f"{words}\n")
        progress.flush()

    try:
        diagnosis = await diagnose(request, backend=settings.backend, tell=tell)
    except NothingToRepairError as error:
        stream.write(f"{error}\n")
        return 0
    for note in diagnosis.notes[:_NOTES_SHOWN]:
        tell(note)
    if (more := len(diagnosis.notes) - _NOTES_SHOWN) > 0:
        tell(f"{more} more files were left out.")
    with LiveLog(None, progress) as log:
        result = await repair(diagnosis, policy, settings, log)
    _report(result, stream)
    if result.is_whole and wants_apply:
        written = apply_changes(diagnosis.project, result.changed)
        stream.write(f"Written: {', '.join(written)}.\n")
    elif result.is_whole:
        stream.write(f"{diagnosis.project.root} is as it was: apply the diff, or give --apply next time.\n")
    return 0 if result.is_whole else 1


def _report(result: Repair, stream: TextIO) -> None:
    stream.write(result.diff)
    stream.write(f"{_verdict(result.ended)} {result.ended.turns} turns, {result.ended.at:.0f} s.\n")


def _verdict(ended: Ended) -> str:
    if ended.graded is None:
        return f"No verdict: the episode ended by {ended.reason} ({ended.detail})."
    state = "Repaired." if ended.graded.solved else f"Not repaired ({ended.failure})."
    return f"{state} {ended.graded.reason}"
