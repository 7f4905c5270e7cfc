"""Bug tasks, sandboxes and grading for language models that debug Python."""
