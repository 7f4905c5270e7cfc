"""What the runner inside the debuggee reports about the run, in words."""

from typing import Any


class RunNotes:
    """Collects the facts a run reports; ``summary`` says them at its end."""

    def __init__(self) -> None:
        self.switched_off: list[str] = []
        self._lines: list[str] = []
        self._failed: list[str] = []
        self._counts: dict[str, int] = {}

    def add(self, kind: str, data: Any) -> None:
        """Take in one fact (see ``debuggee.run_target`` for the kinds)."""
        match kind:
            case "switched_off":
                self.switched_off.extend(data)
            case "collect_error" | "syntax_error":
                place = f"{data.get('file')}:{data.get('line')}"
                self._lines.append(f"{place}: {data.get('message')}")
            case "not_found":
                near = ", ".join(data.get("nearest") or []) or "none; check the path"
                what = data.get("what", "test")
                self._lines.append(f"no {what} matches {data.get('asked')}; nearest: {near}")
            case "usage_error":
                self._lines.append(f"pytest refused its arguments: {data.get('message')}")
            case "missing":
                package = data.get("package")
                self._lines.append(
                    f"{package} is not installed for {data.get('interpreter', 'this interpreter')}; "
                    f"install it there ({data.get('command', f'python -m pip install {package}')}) "
                    "or choose another interpreter with python="
                )
            case "test_result":
                if data.get("outcome") in ("failed", "error"):
                    self._failed.append(str(data.get("id")))
            case "summary":
                self._counts = {name: count for name, count in data.items() if count}
            case _:
                pass

    def summary(self) -> tuple[str, ...]:
        """Test counts, failures, and what kept the run from starting."""
        lines = list(self._lines)
        if self._counts:
            lines.append(", ".join(f"{count} {name}" for name, count in self._counts.items()))
        if self._failed:
            more = f" and {len(self._failed) - 5} more" if len(self._failed) > 5 else ""
            lines.append("failed: " + ", ".join(self._failed[:5]) + more)
        return tuple(lines)
