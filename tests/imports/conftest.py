"""Small imported sets of our own, in the two forms that other projects publish."""

import json
from pathlib import Path

import pytest

SCRIPT_GRADER = """
import json, os, sys

def main():
    root = sys.argv[1]
    path = os.path.join(root, "output", "total.txt")
    checks = {"exists": os.path.isfile(path), "right": False}
    if checks["exists"]:
        checks["right"] = open(path).read().strip() == "42"
    print(json.dumps({"reward": sum(checks.values()) / 2, **checks}))

if __name__ == "__main__":
    main()
"""

FUNCTION_GRADER = """
import json, sys
from pathlib import Path

def grade(transcript: list, workspace_path: str) -> dict:
    path = Path(workspace_path) / "notes.md"
    lines = path.read_text().splitlines() if path.exists() else []
    return {"three_lines": min(len(lines), 3) / 3, "title": 1.0 if lines and lines[0].startswith("# ") else 0.0}

def main():
    print(json.dumps(grade([], sys.argv[1])))

if __name__ == "__main__":
    main()
"""

MARKDOWN = """---
id: task_01_letter
name: A letter
category: writing
grading_type: hybrid
grading_weights:
  automated: 0.6
  llm_judge: 0.4
workspace_files:
  - path: "facts.txt"
    content: |
      name: Ada
  - source: table.xlsx
    dest: data/table.xlsx
---

## Prompt

Read facts.txt and write a letter to the person in it. Save it to letter.md.

---

## Expected Behavior

A letter.

## Automated Checks

```python
## a comment that looks like a heading
def grade(transcript: list, workspace_path: str) -> dict:
    from pathlib import Path

    read = False
    for event in transcript:
        if event.get("type") == "message" and event["message"].get("role") == "assistant":
            for item in event["message"]["content"]:
                if item.get("type") == "toolCall" and item["name"] == "read_file":
                    read = read or "facts.txt" in item["params"]["files"]
    path = Path(workspace_path) / "letter.md"
    return {"read_facts": 1.0 if read else 0.0, "named": 1.0 if path.exists() and "Ada" in path.read_text() else 0.0}
```

## LLM Judge Rubric

### Criterion 1: Tone (Weight: 70%)

**Score 1.0**: Warm.
**Score 0.75**: Polite.
**Score 0.5**: Dry.
**Score 0.25**: Rude.
**Score 0.0**: Nothing.

### Criterion 2: Form (Weight: 30%)

**Score 1.0**: Greeting, body
and closing.

**Score 0.75**: One is missing.

**Score 0.5**: Two are missing.

**Score 0.25**: Hardly a letter.

**Score 0.0**: No letter.

---

## Additional Notes

None.
"""


def write_entry(folder: Path, **changes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    entry = {"task_id": folder.name, "user_query": "Add the numbers in input/a.csv into output/total.txt.", "metadata": {"category": ""}}
    (folder / "data_entry.json").write_text(json.dumps(entry | changes))


def write_clawgym(root: Path, name: str, grader: str = SCRIPT_GRADER, **changes) -> Path:
    folder = root / name
    write_entry(folder, **changes)
    (folder / "input_files/input").mkdir(parents=True)
    (folder / "input_files/input/a.csv").write_bytes(b"n\r\n40\r\n2\r\n")
    (folder / "reward").mkdir()
    (folder / "reward/check.py").write_text(grader)
    return folder


def write_pinchbench(root: Path, text: str = MARKDOWN, name: str = "task_01_letter.md") -> Path:
    (root / "assets").mkdir(parents=True, exist_ok=True)
    (root / "assets/table.xlsx").write_bytes(b"PK\x03\x04\x00\xff")
    (root / name).write_text(text)
    return root / name


@pytest.fixture
def clawgym_set(tmp_path: Path) -> Path:
    root = tmp_path / "clawgym"
    write_clawgym(root, "task_1")
    write_clawgym(root, "task_2", FUNCTION_GRADER, user_query="Write notes.md with a title and three lines.")
    return root


@pytest.fixture
def pinchbench_set(tmp_path: Path) -> Path:
    root = tmp_path / "pinchbench"
    write_pinchbench(root)
    return root
