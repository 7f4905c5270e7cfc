"""The folder of a run: locked while it is at work, claimed by its settings, and what goes wrong in words."""

import errno
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TextIO, TypeVar

import anyio
from pdb_agent.run_folder import RunFolder

from pdb_trainer.checkpoint import newest_step
from pdb_trainer.config import GrpoConfig, SftConfig
from pdb_trainer.config_reading import write_run_file
from pdb_trainer.errors import ConfigError, TrainerError
from pdb_trainer.run_files import CHECKPOINTS

_NOT_WRITABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EACCES})
C = TypeVar("C", SftConfig, GrpoConfig)
Train = Callable[[C, Path, TextIO], Awaitable[int]]
"""Runs what is missing of a run in its folder, telling a person; the exit status."""


def in_folder(train: Train[C], config: C, folder: Path, stream: TextIO) -> int:
    """Train in a folder that is this run's. Raises TrainerError, AgentError and KeyboardInterrupt."""
    if config.run.ranks != 1:
        raise ConfigError(
            "Training takes one process so far: set run.ranks=1, other values are for --dry-run."
        )
    with RunFolder(folder).locked():
        write_run_file(folder, config)
        if newest_step(folder / CHECKPOINTS) >= config.run.steps:
            stream.write(f"All {config.run.steps} steps in {folder} are done: raise run.steps to go on.\n")
            return 0
        stream.write(f"{config.model.path} is read; the run is kept in {folder}.\n")
        try:
            return anyio.run(partial(train, config, folder, stream))
        except OSError as error:
            if error.errno not in _NOT_WRITABLE:
                raise
            raise TrainerError(
                f"{error.filename or folder} cannot be written ({error.strerror}): make room and run the "
                "same command again; it goes on from its last checkpoint."
            ) from error
        except KeyboardInterrupt:
            stream.write(f"\nStopped. The same command goes on from the last checkpoint in {folder}.\n")
            raise
