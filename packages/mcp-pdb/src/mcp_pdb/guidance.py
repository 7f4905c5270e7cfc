"""What the server teaches a model: its instructions and its one prompt. Pure: no I/O."""

INSTRUCTIONS = """\
A Python debugger. Use it instead of adding prints when a test fails or a value is wrong.
1 Reproduce: start_debugger(target="tests/test_x.py::test_y"). With run=true it goes on to the failure and \
stops there, all frames alive.
2 Form a hypothesis, and stop where it can be refuted: add_breakpoint(at="file.py:62", condition=…), \
continue_execution, step_over, step_into, step_out.
3 Look: each stop says what changed; examine_locals, print_variable, where_am_i, run_expression for the rest.
4 Fix the file, stop_debugger, start_debugger again and see it pass.
A program that hangs: where_am_i(all_threads=true) shows what each thread waits on.
Values are short on purpose: open one by its path with print_variable."""

PROMPT_NAME = "debug_failing_test"
PROMPT_DESCRIPTION = "Find the cause of a failing test with the debugger, then fix it."


def debug_failing_test(test: str) -> str:
    """The prompt's text."""
    return f"""\
The test {test} fails. Find the cause with the debugger before changing anything.
1. start_debugger(target={test!r}, run=true) runs to the failure and stops there. Read the exception, then \
examine_locals.
2. Say in one sentence what you believe is wrong, and where that could be proved false.
3. stop_debugger, then start_debugger with breakpoints=[that place] and run=true, and look: step_over shows \
what changes, run_expression answers questions.
4. If the belief was wrong, go back to 2. If it holds, fix the code.
5. stop_debugger, then start_debugger(target={test!r}, run=true) once more: it must exit with code 0."""
