"""What a model answers to `write_verifier` and `write_solution`, and what it must satisfy before it is executed even once."""

import ast
import sys
from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field, field_validator, model_validator

from clawgym.tasks.paths import WorkspacePath

NOT_DETERMINISTIC = {"random", "secrets", "uuid"}
NO_NETWORK = {"socket", "ssl", "http", "urllib", "ftplib", "smtplib", "imaplib", "poplib", "telnetlib", "xmlrpc", "socketserver"}
STDLIB = frozenset(sys.stdlib_module_names)
Id = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=60)]


def _tree(source: str, what: str) -> ast.Module:
    try:
        tree = ast.parse(source)
        compile(source, f"<{what}>", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"{what}: does not compile: {error}") from None
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise ValueError(f"{what}: line {node.lineno}: relative imports have nothing to import from")
            names = [node.module or ""]
        for name in names:
            top = name.split(".")[0]
            if top not in STDLIB:
                raise ValueError(f"{what}: line {node.lineno}: imports {name}; only the Python standard library is installed")
            if top in NO_NETWORK and name != "urllib.parse":
                raise ValueError(f"{what}: line {node.lineno}: imports {name}; there is no network")
    return tree


def check_grader(source: str) -> str:
    """Grader source by the contract: compiles, standard library only, deterministic modules only, `grade(transcript, workspace_path)`."""
    tree = _tree(source, "code")
    graders = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == "grade"]
    if not graders or isinstance(graders[-1], ast.AsyncFunctionDef):
        raise ValueError("code: expected a plain function grade(transcript, workspace_path) at the top level")
    arguments = graders[-1].args
    if [a.arg for a in (*arguments.posonlyargs, *arguments.args)][:2] != ["transcript", "workspace_path"]:
        raise ValueError("code: expected the parameters grade(transcript, workspace_path)")
    required = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
    if required > 2 or any(default is None for default in arguments.kw_defaults):
        raise ValueError("code: grade is called with transcript and workspace_path only; give further parameters defaults or drop them")
    for node in ast.walk(tree):
        imported = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        imported += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if drawn := NOT_DETERMINISTIC & {name.split(".")[0] for name in imported}:
            raise ValueError(f"code: imports {', '.join(sorted(drawn))}; a grader gives the same scores every time")
    return source


def check_program(source: str) -> str:
    """A reference program: compiles and imports the standard library only."""
    _tree(source, "program")
    return source


class Check(BaseModel):
    check_id: Id
    description: str = Field(min_length=5)
    artifact: WorkspacePath | None


class Rule(BaseModel):
    rule_id: Id
    text: str = Field(min_length=10)
    artifact: WorkspacePath | None
    weight: float = Field(gt=0, le=1000, allow_inf_nan=False)
    anchors: list[str]

    @field_validator("anchors")
    @classmethod
    def _five(cls, anchors: list[str]) -> list[str]:
        if len(anchors) != 5 or not all(anchor.strip() for anchor in anchors):
            raise ValueError(f"expected five written anchors, for 0, 0.25, 0.5, 0.75 and 1; found {len(anchors)}")
        return anchors


class VerifierDraft(BaseModel):
    """The answer to a `write_verifier` request."""

    code: Annotated[str, AfterValidator(check_grader)] | None
    checks: list[Check]
    rubric: list[Rule]

    @field_validator("code", mode="before")
    @classmethod
    def _none(cls, code: object) -> object:
        return None if isinstance(code, str) and not code.strip() else code

    @model_validator(mode="after")
    def _consistent(self) -> "VerifierDraft":
        if self.code is None and not self.rubric:
            raise ValueError("expected code, rubric rules or both")
        if bool(self.checks) != (self.code is not None):
            raise ValueError("checks: list every key that grade returns, and none if there is no code")
        for name, ids in (("check_id", [c.check_id for c in self.checks]), ("rule_id", [r.rule_id for r in self.rubric])):
            if repeated := sorted({i for i in ids if ids.count(i) > 1}):
                raise ValueError(f"{name}: {repeated} are used more than once")
        return self


class Solution(BaseModel):
    """The answer to a `write_solution` request."""

    program: Annotated[str, Field(min_length=1), AfterValidator(check_program)]
