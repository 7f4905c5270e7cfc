"""Loads a test runner while the debuggee waits for what to run.

Only what that runner would load itself, and before the program's own folders
are on ``sys.path``.
"""

from __future__ import annotations

from importlib import import_module


def preload(runner=None):
    """Import "pytest" with its own plugins, or nothing. A missing one is reported when it runs."""
    if runner != "pytest":
        return
    try:
        import_module("pytest")
        for name in getattr(import_module("_pytest.config"), "default_plugins", ()):
            import_module("_pytest." + name)
    except ImportError:
        pass
