"""Code that runs inside the target interpreter: standard library only, Python 3.8 and later."""
