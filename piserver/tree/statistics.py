"""Totals over entries: how many messages, how many tokens, what it cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from piserver.entries.codec import Head, MessageHead, Usage
from piserver.tree.node import Node


@dataclass(slots=True)
class ModelUsage:
    """Tokens and cost (USD) of one model."""

    input: float = 0
    output: float = 0
    cache_read: float = 0
    cache_write: float = 0
    total_tokens: float = 0
    cost: float = 0

    def add(self, usage: Usage) -> None:
        """Count one answer's usage."""
        self.input += usage.input
        self.output += usage.output
        self.cache_read += usage.cache_read
        self.cache_write += usage.cache_write
        self.total_tokens += usage.total
        self.cost += usage.cost.total if usage.cost else 0


SUMMARIES = "summaries"
"""The key under which usage of compactions and branch summaries is counted."""


@dataclass(slots=True)
class Statistics:
    """Counts by role and totals of usage. `by_model` has a key `provider/model` each, and `summaries`."""

    entries: int = 0
    messages: int = 0
    roles: dict[str, int] = field(default_factory=dict[str, int])
    total: ModelUsage = field(default_factory=ModelUsage)
    by_model: dict[str, ModelUsage] = field(default_factory=dict[str, ModelUsage])

    def add(self, node: Node) -> None:
        """Count one entry."""
        self.entries += 1
        detail = node.detail
        if node.type == "message":
            self.messages += 1
            role = node.role or ""
            self.roles[role] = self.roles.get(role, 0) + 1
            if isinstance(detail, MessageHead) and detail.usage is not None:
                self._count(f"{_word(detail.provider)}/{_word(detail.model)}", detail.usage)
        elif isinstance(detail, Head) and detail.usage is not None:
            key = f"{_word(detail.provider)}/{_word(detail.model)}" if node.type == "usage" else SUMMARIES
            self._count(key, detail.usage)

    def _count(self, key: str, usage: Usage) -> None:
        self.total.add(usage)
        self.by_model.setdefault(key, ModelUsage()).add(usage)


def _word(value: object) -> str:
    return value if isinstance(value, str) else "unknown"


def statistics_of(nodes: Iterable[Node]) -> Statistics:
    """The totals over some entries, a path for instance."""
    statistics = Statistics()
    for node in nodes:
        statistics.add(node)
    return statistics
