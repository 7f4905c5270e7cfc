"""``make bench``: the debugger against its floor and its peers. See ``bench/command.py``."""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from bench.command import main

    raise SystemExit(main())
