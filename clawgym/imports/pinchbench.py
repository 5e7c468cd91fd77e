"""PinchBench's form: `task_*.md` with YAML front matter and the sections Prompt, Automated Checks, LLM Judge Rubric, assets beside them."""

import ast
import re
from pathlib import Path

import yaml

from clawgym.imports.records import Limits, Malformed, Origin, checked_files, checked_id, checked_path, input_file, task_row, verifier_row

NAME = "pinchbench"
ANCHORS = (0.0, 0.25, 0.5, 0.75, 1.0)
HALF = {"automated": 0.5, "llm_judge": 0.5}
"""Weights of a hybrid task that names none."""

# The sandbox gives graders the conversation as the events they read. The agents here call `read` with a path; a grader that only knows
# the older name `read_file` with a list of files is given that.
WRAPPER = '''\
"""An imported grade function, kept as data, given the transcript with the tool names that it knows."""

SOURCE = {source}
READ = {read}


def grade(transcript, workspace_path):
    for event in transcript:
        for item in event.get("message", {{}}).get("content") or []:
            if item.get("type") == "toolCall" and item.get("name") == "read" and isinstance(item.get("params"), dict):
                item["name"] = READ
                item["params"] = item["params"] | {{"files": [item["params"].get("path", "")]}}
    names = {{"__name__": "imported_grader"}}
    exec(compile(SOURCE, "imported_grader.py", "exec"), names)
    return names["grade"](transcript, workspace_path)
'''


def records(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("task_*.md") if path.is_file())


def parse(path: Path, origin: Origin, limits: Limits) -> tuple[dict, dict]:
    """Task and verifier of one Markdown file. Raises Malformed."""
    try:
        text = path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise Malformed("not_utf8", str(error)) from None
    meta, body = front_matter(text)
    if meta.get("sessions") or meta.get("multi_session"):
        raise Malformed("several_sessions", "expected one prompt; tasks of several sessions are not supported")
    parts = sections(body)
    prompt = re.sub(r"\n-{3,}\s*\Z", "", parts.get("prompt", "").strip() + "\n").strip()
    if not prompt:
        raise Malformed("missing_prompt", "expected text in a section '## Prompt'")
    task_id = checked_id(meta.get("id"))
    grading = meta.get("grading_type")
    if grading not in ("automated", "llm_judge", "hybrid"):
        raise Malformed("unknown_grading_type", f"expected automated, llm_judge or hybrid, found {grading!r:.60}")
    files = workspace_files(meta.get("workspace_files") or [], path.parent, limits)
    task = task_row(NAME, task_id, prompt, meta.get("category"), files, f"pinchbench:{path.name}", origin)
    code = wrap(parts.get("automated checks", "")) if grading != "llm_judge" else None
    outputs = task["expected_outputs"]
    rubric = parse_rubric(parts.get("llm judge rubric", ""), outputs) if grading != "automated" else []
    return task, verifier_row(task, code, rubric, code_weight(grading, meta.get("grading_weights")))


def front_matter(text: str) -> tuple[dict, str]:
    """The YAML between the first two `---` lines, and what follows. Raises Malformed."""
    match = re.match(r"---[ \t]*\n(.*?)\n---[ \t]*\n", text, re.DOTALL)
    if not match:
        raise Malformed("missing_front_matter", "expected YAML between two '---' lines at the start")
    try:
        meta = yaml.safe_load(match[1])
    except yaml.YAMLError as error:
        raise Malformed("broken_front_matter", " ".join(str(error).split())) from None
    if not isinstance(meta, dict):
        raise Malformed("broken_front_matter", f"expected keys and values, found {type(meta).__name__}")
    return meta, text[match.end() :]


def sections(body: str) -> dict[str, str]:
    """Lower-case title of each `## ` heading → its text. Headings inside code fences are text."""
    parts: dict[str, list[str]] = {}
    title, fence = None, None
    for line in body.split("\n"):
        mark = re.match(r"\s*(`{3,}|~{3,})", line)
        if mark and (fence is None or mark[1].startswith(fence)):
            fence = mark[1] if fence is None else None
        if fence is None and line.startswith("## "):
            title = line[3:].strip().lower()
            parts.setdefault(title, [])
        elif title is not None:
            parts[title].append(line)
    return {name: "\n".join(lines) for name, lines in parts.items()}


def workspace_files(entries: object, folder: Path, limits: Limits) -> list[dict]:
    """Input files: `path` with `content`, or `source` (in assets/ beside the task) with `dest`. Raises Malformed."""
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise Malformed("broken_front_matter", "workspace_files: expected a list of entries with path and content, or source and dest")
    files = []
    for entry in entries:
        if "source" in entry:
            source = checked_path(entry["source"])
            found = next((base / source for base in (folder / "assets", folder) if (base / source).exists()), None)
            if found is None:
                raise Malformed("missing_asset", f"expected assets/{source}")
            if not found.resolve().is_relative_to(folder.resolve()) or not found.is_file():
                raise Malformed("unsafe_path", f"expected a plain file in assets/, found {source}")
            files.append(input_file(checked_path(entry.get("dest", source)), found.read_bytes(), limits))
        elif isinstance(entry.get("content"), str):
            files.append(input_file(checked_path(entry.get("path")), entry["content"].encode(), limits))
        else:
            raise Malformed("broken_front_matter", f"workspace_files: expected content or source for {entry.get('path')!r}")
    paths = [file["path"] for file in files]
    if twice := sorted({path for path in paths if paths.count(path) > 1}):
        raise Malformed("broken_front_matter", f"workspace_files: {', '.join(twice)} given twice")
    return checked_files(files)


def wrap(section: str) -> str:
    """Source of a `grade` function around the one of the section. It is parsed, never run. Raises Malformed."""
    block = re.search(r"^```(?:python|py)?[ \t]*\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
    if not block:
        raise Malformed("missing_grader", "expected a Python block in the section '## Automated Checks'")
    try:
        tree = ast.parse(block[1])
    except (SyntaxError, ValueError) as error:
        raise Malformed("broken_grader", f"Automated Checks: {error}") from None
    if not any(isinstance(node, ast.FunctionDef) and node.name == "grade" for node in tree.body):
        raise Malformed("grader_without_grade", "Automated Checks: expected a function grade(transcript, workspace_path)")
    strings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    older = "read_file" in strings and "read" not in strings
    return WRAPPER.format(source=repr(block[1]), read=repr("read_file" if older else "read"))


def parse_rubric(section: str, outputs: list[str]) -> list[dict]:
    """Rubric rules of the `### Criterion …` headings, each with its five anchors in rising order. Raises Malformed.

    A rule is judged on the output its text names; if it names none, on the only output of the task, else on the final answer (null).
    """
    rules = []
    for block in re.split(r"^### ", section, flags=re.MULTILINE)[1:]:
        head, _, text = block.partition("\n")
        weight = re.search(r"\(\s*weight:?\s*([\d.]+)\s*%?\s*\)", head, re.IGNORECASE)
        found = re.findall(r"\*\*Score ([\d.]+)\*\*:?\s*(.*?)(?=\n\s*\*\*Score |\n-{3,}|\Z)", text, re.DOTALL)
        anchors = {float(score): " ".join(words.split()) for score, words in found}
        if not weight or set(anchors) != set(ANCHORS):
            raise Malformed("broken_rubric", f"{head.strip()[:80]}: expected a weight and anchors for the scores 0, 0.25, 0.5, 0.75 and 1")
        title = re.sub(r"\(\s*weight.*", "", head, flags=re.IGNORECASE).strip()
        named = [output for output in outputs if output in head + text]
        artifact = named[0] if named else outputs[0] if len(outputs) == 1 else None
        rules.append(
            {
                "rule_id": f"criterion_{len(rules) + 1}",
                "text": re.sub(r"^criterion \d+:\s*", "", title, flags=re.IGNORECASE),
                "artifact": artifact,
                "weight": float(weight[1]),
                "anchors": [anchors[score] for score in ANCHORS],
            }
        )
    if not rules or not sum(rule["weight"] for rule in rules):
        raise Malformed("missing_rubric", "expected '### Criterion' headings with weights in the section '## LLM Judge Rubric'")
    return rules


def code_weight(grading: str, weights: object) -> float:
    """Share of the code checks in the task score. Raises Malformed."""
    if grading != "hybrid":
        return 1.0 if grading == "automated" else 0.0
    try:
        given = HALF if weights is None else {key: float(weights[key]) for key in HALF}
        return given["automated"] / sum(given.values())
    except (TypeError, KeyError, ValueError, ZeroDivisionError):
        raise Malformed(
            "broken_front_matter", f"grading_weights: expected numbers for automated and llm_judge, found {weights!r:.80}"
        ) from None
