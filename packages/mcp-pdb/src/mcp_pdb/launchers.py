"""Which launcher this system gets; the only place that asks."""

import sys
from typing import Protocol

from mcp_pdb.launcher import Launcher, PlainLauncher


class OwnLauncher(Launcher, Protocol):
    """A launcher that ends what it started."""

    async def aclose(self) -> None:
        """Kill every program that is still running; idempotent."""
        ...


def default_launcher() -> OwnLauncher:
    """A fresh launcher that starts programs plainly; imported only when used."""
    if sys.platform == "win32":
        from mcp_pdb.windows_launcher import WindowsLauncher

        return WindowsLauncher()
    return PlainLauncher()
