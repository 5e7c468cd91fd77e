"""The recording proxy: the only way from an agent to a model, one Unix socket per rollout session."""

from clawgym.proxy.server import Budget, Proxy, Session

__all__ = ["Budget", "Proxy", "Session"]
