"""Prompt templates: `NAME.j2` holds the system part, a line `=== user ===`, and the user part, which ends with the request as JSON.

The request block says in a fixed form what the prose says in words; any model may use it.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import jinja2

from clawgym.errors import UserError

SEPARATOR = "\n=== user ===\n"


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False)
    environment.filters["json"] = lambda value: json.dumps(value, ensure_ascii=False)  # tojson would escape <, > and & for HTML
    return environment


def _source(prompts_dir: str | Path, name: str) -> tuple[Path, str]:
    path = Path(prompts_dir) / f"{name}.j2"
    try:
        return path, path.read_text(encoding="utf-8")
    except OSError:
        raise UserError(f"{path}: no such prompt template; restore it or set prompts: to the folder that has it") from None


def render(prompts_dir: str | Path, name: str, /, **values: Any) -> list[dict[str, str]]:
    """The messages (system, user) of template `name` filled with `values`.

    The file is cut before it is filled, so that no value can open another message.
    Raises UserError if the template is missing, is malformed or names a value it is not given.
    """
    path, source = _source(prompts_dir, name)
    if source.count(SEPARATOR) != 1:
        raise UserError(f"{path}: expected one line '=== user ===' between the system part and the user part")
    system, user = source.split(SEPARATOR)
    try:
        parts = [_environment().from_string(part).render(**values).strip() for part in (system, user)]
    except jinja2.TemplateError as error:
        raise UserError(f"{path}: {error}; values it may use: {', '.join(sorted(values))}") from None
    return [{"role": role, "content": text} for role, text in zip(("system", "user"), parts, strict=True) if text]


def prompt_hash(prompts_dir: str | Path, name: str) -> str:
    """Hash of a template for the provenance of what was asked with it: 12 hex digits."""
    return hashlib.sha256(_source(prompts_dir, name)[1].encode()).hexdigest()[:12]
