"""What holds for every test: the surroundings of the shell that runs them do not reach a debuggee."""

import os

for variable in (
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONWARNINGS",
    "PYTHONPATH",
    "VIRTUAL_ENV",
    "PYTEST_XDIST_WORKER",  # the tests may run in workers, what they debug does not
    "PYTEST_XDIST_WORKER_COUNT",
    "PYTEST_XDIST_TESTRUNUID",
):
    os.environ.pop(variable, None)
