"""One adapter per debugger: the same few verbs, spoken in each one's own tools."""
