"""Asking models: one client for every role, on the `openai` package.

`Client` asks (retries, bounded concurrency, structured output), `store` remembers answers and counts what they cost,
`endpoints` opens what is not already served, `prompts` renders the templates.
"""

from clawgym.client.client import Client, Completion, Unanswered, cost, respect_limit
from clawgym.client.prompts import prompt_hash, render
from clawgym.client.store import Store

__all__ = ["Client", "Completion", "Store", "Unanswered", "cost", "prompt_hash", "render", "respect_limit"]
