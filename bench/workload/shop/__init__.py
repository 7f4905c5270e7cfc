"""A small shop with one wrong price rule: the program every debugger in the benchmark is given."""
