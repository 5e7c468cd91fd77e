"""Finding and reading SKILL.md files. They are untrusted and vary wildly: whatever is in one is text, and every one gives a record.

Read leniently: no front matter, metadata as one line of JSON or as nested YAML under `clawdbot`, `clawdis`, `openclaw` and other names,
broken YAML, byte order marks, CRLF, other encodings, other languages, huge files.
"""

import hashlib
import json
import os
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from clawgym.errors import UserError

MAX_BYTES = 256 * 1024
"""What is read of one file."""
BODY_CHARS = 4000
MAX_DEPTH = 20
MARKS = {b"\xef\xbb\xbf": "utf-8", b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}

SCRIPTS = [
    ("ja", r"[\u3040-\u30ff]"),
    ("ko", r"[\uac00-\ud7af]"),
    ("zh", r"[\u4e00-\u9fff]"),
    ("th", r"[\u0e00-\u0e7f]"),
    ("ru", r"[\u0400-\u04ff]"),
    ("ar", r"[\u0600-\u06ff]"),
    ("he", r"[\u0590-\u05ff]"),
    ("hi", r"[\u0900-\u097f]"),
    ("el", r"[\u0370-\u03ff]"),
]
COMMON_WORDS = {
    "en": "the and of to is are with for from that this when use your you not or by it an as be".split(),
    "de": "der die das und ist nicht mit für ein eine von zu den auf wird oder bei aus im nach sind".split(),
    "fr": "le la les des et est une pour dans avec sur qui pas du au ce cette vous par aux ou".split(),
    "es": "el los las una y es para con por que del en se como su más este esta al o cada".split(),
    "pt": "os uma é para com por que do da em não como seu mais ao dos das ou são cada".split(),
    "it": "il lo gli una e è per con che di del della nel non sono come più al dei ogni".split(),
    "nl": "de het een en is niet met voor van op te dat zijn aan bij uit naar wordt of elk".split(),
}


@dataclass(frozen=True)
class Skill:
    """One SKILL.md as read. `declares`: what its metadata says it requires (bins, env, config, os)."""

    source: str
    name: str
    description: str
    body: str
    language: str
    sha256: str
    frontmatter: dict[str, Any] = field(default_factory=dict)
    declares: dict[str, list[str]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()

    @property
    def skill_id(self) -> str:
        slug = re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")[:40].strip("-")
        return f"{slug or 'skill'}-{self.sha256[:8]}"


def find_skills(folders: list[str]) -> list[Path]:
    """SKILL.md files below `folders` (any case), each once, sorted. Raises UserError for a folder that is missing or holds none."""
    found: dict[Path, None] = {}
    for folder in folders:
        root = Path(folder)
        if not root.is_dir():
            raise UserError(f"{folder}: no such skills folder; correct seeds.skills.folders")
        here = [Path(at) / name for at, _, names in os.walk(root) for name in names if name.lower() == "skill.md"]
        if not here:
            raise UserError(f"{folder}: expected SKILL.md files in it or below, found none; correct seeds.skills.folders")
        found |= dict.fromkeys(sorted(here))
    return list(found)


def load_skills(folders: list[str]) -> list[Skill]:
    """All skills of `folders`; those with the same words are merged into the first of them."""
    return merge_copies([read_skill(path) for path in find_skills(folders)])


def read_skill(path: Path) -> Skill:
    """One skill. Links are not followed and what cannot be read is empty, with a note in either case."""
    if path.is_symlink() or not path.is_file():
        return parse_skill(b"", str(path), notes=("not_a_regular_file",))
    try:
        with open(path, "rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError:
        return parse_skill(b"", str(path), notes=("not_readable",))
    return parse_skill(raw[:MAX_BYTES], str(path), notes=("truncated",) if len(raw) > MAX_BYTES else ())


def merge_copies(skills: list[Skill]) -> list[Skill]:
    """The first skill of every `sha256`, with the sources of the others in `copies`."""
    first: dict[str, Skill] = {}
    for skill in skills:
        kept = first.get(skill.sha256)
        first[skill.sha256] = replace(kept, copies=(*kept.copies, skill.source)) if kept else skill
    return list(first.values())


# -- one file ---------------------------------------------------------------------------------------------------------------------


def parse_skill(raw: bytes, source: str, notes: tuple[str, ...] = ()) -> Skill:
    """The record of one file's bytes. Never raises for what is in it."""
    text, encoding_notes = _decode(raw)
    values, body, parse_notes = split_front_matter(text)
    heading = re.search(r"^#{1,6}[ \t]+(.+?)[ \t#]*$", body, re.MULTILINE)
    name = _line(values.get("name")) or _line(heading and heading[1]) or Path(source).parent.name or "skill"
    description = _line(values.get("description")) or _first_paragraph(body)
    return Skill(
        source=source,
        name=name[:120],
        description=description[:1500],
        body=body[:BODY_CHARS],
        language=guess_language(f"{description}\n{body}"),
        sha256=_words_hash(description, body) or hashlib.sha256(raw + source.encode()).hexdigest(),
        frontmatter=values,
        declares=declared_needs(values),
        notes=(*notes, *encoding_notes, *parse_notes, *([] if body.strip() else ["empty"])),
    )


def _decode(raw: bytes) -> tuple[str, list[str]]:
    encoding, mark = next(((code, mark) for mark, code in MARKS.items() if raw.startswith(mark)), ("utf-8", b""))
    raw, notes = raw.removeprefix(mark), ["byte_order_mark"] if mark else []
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        # a file that was cut to MAX_BYTES may end inside a character: that is not a wrong encoding
        if not (error.end == len(raw) == MAX_BYTES and error.reason == "unexpected end of data"):
            notes.append(f"not_{encoding.replace('-', '_')}")
        text = raw.decode(encoding, "replace")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", "", text), notes


def split_front_matter(text: str) -> tuple[dict[str, Any], str, list[str]]:
    """(values, body, notes) of a document that may begin with front matter between `---` lines."""
    text = text.lstrip("\n \t\ufeff")
    if not re.match(r"---[ \t]*\n", text):
        return {}, text, ["no_front_matter"]
    lines = text.split("\n")
    end = next((i for i, line in enumerate(lines[1:], 1) if re.fullmatch(r"(---|\.\.\.)[ \t]*", line)), None)
    notes = []
    if end is None:  # never closed: it lasts as long as lines look like it
        notes.append("unclosed_front_matter")
        end = next((i for i, line in enumerate(lines[1:], 1) if not re.match(r"[\w.-]+\s*:|[ \t]+\S|- ", line)), len(lines))
        block, body = lines[1:end], lines[end:]
    else:
        block, body = lines[1:end], lines[end + 1 :]
    values, broken = _parse_block("\n".join(block))
    if broken:
        notes.append("broken_yaml")
    return values, "\n".join(body).strip("\n"), notes


class _Loader(yaml.SafeLoader):
    """Plain YAML without aliases: a few lines of them unfold into gigabytes."""

    def compose_node(self, parent, index):
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not read")
        return super().compose_node(parent, index)


# a skill named `no` or `on` is not called False, and a date stays what was written
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith((":bool", ":timestamp"))]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false|True|False)$"), list("tfTF"))


def _yaml(text: str) -> Any:
    """The value of a YAML text. Raises ValueError for anything that cannot be read, however deep or odd."""
    if re.search(r"(?:\[\s*){50}|(?:\{\s*){50}", text):
        raise ValueError("nested too deeply")  # the parser would take seconds to find that out
    try:
        return yaml.load(text, _Loader)
    except (yaml.YAMLError, RecursionError, ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise ValueError(str(error)) from None


def _parse_block(block: str) -> tuple[dict[str, Any], bool]:
    """Values of a front-matter block, and whether it is broken YAML, of which each top-level key was then read for itself."""
    try:
        values = _yaml(block)
        broken = values is not None and not isinstance(values, dict)
    except ValueError:
        values, broken = None, True
    if not isinstance(values, dict):
        values = {}
        for chunk in re.split(r"^(?=[\w.-]+[ \t]*:)", block, flags=re.MULTILINE):
            key, colon, text = chunk.partition(":")
            if not colon or not re.fullmatch(r"[\w.-]+[ \t]*", key):
                continue
            try:
                values |= _yaml(chunk)
            except (ValueError, TypeError):
                values[key.strip()] = text.strip().lstrip(">|-").strip().strip("\"'")
    return {_clean(str(key)): _plain(value) for key, value in values.items()}, broken


def _plain(value: Any, depth: int = 0) -> Any:
    """JSON values only; texts that are a JSON object (single-line metadata) become that object."""
    if depth > MAX_DEPTH:
        return None
    if isinstance(value, dict):
        return {_clean(str(key)): _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(item, depth + 1) for item in value]
    if isinstance(value, str) and value.lstrip()[:1] == "{":
        try:
            return _plain(json.loads(value), depth + 1)
        except (ValueError, RecursionError):
            return _clean(value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float) and value == value and abs(value) != float("inf"):
        return value
    return _clean(str(value))


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()  # lone surrogates, as JSON escapes can write them, are not text


def _line(value: Any) -> str:
    return " ".join(value.split()) if isinstance(value, str) else str(value) if isinstance(value, int | float) else ""


def _first_paragraph(body: str) -> str:
    for paragraph in re.split(r"\n\s*\n", _without_code(body)):
        lines = [line.strip() for line in paragraph.strip().splitlines() if line.strip() and not re.match(r"\s*(#|---|\||!\[|<)", line)]
        if lines:
            return " ".join(re.sub(r"^[>*\-\s]+", "", line) for line in lines)
    return ""


def _without_code(text: str) -> str:
    return re.sub(r"`[^`\n]*`", " ", re.sub(r"```.*?(```|\Z)", " ", text, flags=re.DOTALL))


def declared_needs(values: dict[str, Any]) -> dict[str, list[str]]:
    """What the metadata says the skill requires: lists `bins`, `env`, `config`, `os`; from the top level and from every vendor's key."""
    found: dict[str, list[str]] = {}

    def visit(node: Any, depth: int = 0) -> None:
        if not isinstance(node, dict) or depth > 3:
            return
        for key, value in node.items():
            if key == "requires" and isinstance(value, dict):
                for kind, names in value.items():
                    collect({"anyBins": "bins", "any_bins": "bins"}.get(kind, kind), names)
            elif key in ("os", "primaryEnv", "requires_env"):
                collect({"os": "os"}.get(key, "env"), value)
            else:
                visit(value, depth + 1)

    def collect(kind: str, names: Any) -> None:
        if kind in ("bins", "env", "config", "os"):
            names = names if isinstance(names, list) else [names]
            found.setdefault(kind, []).extend(name for name in map(str, names) if name not in found.get(kind, []))

    visit(values)
    return {kind: names for kind, names in sorted(found.items()) if names}


def guess_language(text: str) -> str:
    """ISO 639-1 code of the language most of the prose is in, `und` if too little of it speaks for any."""
    prose = re.sub(r"https?://\S+", " ", _without_code(text))[:20_000]
    letters = sum(map(str.isalpha, prose))
    if not letters:
        return "und"
    share = {code: len(re.findall(pattern, prose)) / letters for code, pattern in SCRIPTS}
    if share["ja"] > 0.05:
        return "ja"
    code, most = max(share.items(), key=lambda item: item[1])
    if most > 0.15:
        return code
    words = re.findall(r"[^\W\d_]+", prose.lower())
    votes = {code: sum(word in common for word in words) for code, common in COMMON_WORDS.items()}
    code, most = max(votes.items(), key=lambda item: item[1])
    return code if most >= 2 and most >= 0.02 * len(words) else "und"


def _words_hash(description: str, body: str) -> str | None:
    words = re.findall(r"\w+", f"{description} {body}".casefold())
    return hashlib.sha256(" ".join(words).encode()).hexdigest() if words else None
