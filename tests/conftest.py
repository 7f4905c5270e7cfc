"""What holds for every test: the surroundings of the shell that runs them do not reach a debuggee."""

import os
import signal

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

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a script's background job, and so all its children
    signal.signal(signal.SIGINT, signal.default_int_handler)
