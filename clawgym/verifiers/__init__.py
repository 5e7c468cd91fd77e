"""Verifiers: grader code, rubric rules and the reference solution of each task, and what the grader says of known states."""
