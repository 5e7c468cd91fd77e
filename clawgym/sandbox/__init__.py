"""Where untrusted code runs: verifier code, agent commands and imported graders, and nothing of the host with them."""

from clawgym.sandbox.base import Completed, Sandbox

__all__ = ["Completed", "Sandbox"]
