import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read once, when torch is first imported
