"""What holds for every test: the surroundings of the shell that runs them do not reach a debuggee."""

import os

for variable in (
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONWARNINGS",
    "PYTHONPATH",
    "VIRTUAL_ENV",
):
    os.environ.pop(variable, None)
