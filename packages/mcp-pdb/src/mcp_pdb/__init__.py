"""A Python debugger for language models, served over the Model Context Protocol."""
