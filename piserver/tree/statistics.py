"""Totals over entries: how many messages, how many tokens, what it cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from piserver.entries.codec import Usage
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
        if usage.cost is not None:
            self.cost += usage.cost.total

    def include(self, other: ModelUsage) -> None:
        """Count what another total has counted."""
        self.input += other.input
        self.output += other.output
        self.cache_read += other.cache_read
        self.cache_write += other.cache_write
        self.total_tokens += other.total_tokens
        self.cost += other.cost


SUMMARIES = "summaries"
"""The key under which usage of compactions and branch summaries is counted."""


@dataclass(slots=True)
class Statistics:
    """Counts by role and totals of usage."""

    entries: int = 0
    messages: int = 0
    roles: dict[str, int] = field(default_factory=dict[str, int])
    _usage: dict[tuple[object, object], ModelUsage] = field(default_factory=dict[tuple[object, object], ModelUsage])

    def add(self, node: Node) -> None:
        """Count one entry."""
        self.entries += 1
        detail = node.detail
        if node.type == "message":
            self.messages += 1
            role = node.role or ""
            self.roles[role] = self.roles.get(role, 0) + 1
        if detail is None or detail.usage is None:
            return
        key: tuple[object, object] = (SUMMARIES, SUMMARIES)
        if node.type in ("message", "usage"):
            key = (_word(detail.provider), _word(detail.model))
        usage = self._usage.get(key)
        if usage is None:
            usage = self._usage[key] = ModelUsage()
        usage.add(detail.usage)

    @property
    def total(self) -> ModelUsage:
        """Usage of all models together."""
        total = ModelUsage()
        for usage in self._usage.values():
            total.include(usage)
        return total

    @property
    def by_model(self) -> dict[str, ModelUsage]:
        """Usage under a key `provider/model` each, and `summaries`."""
        return {SUMMARIES if key[0] is SUMMARIES else f"{key[0]}/{key[1]}": usage for key, usage in self._usage.items()}


def _word(value: object) -> str:
    return value if isinstance(value, str) else "unknown"


def statistics_of(nodes: Iterable[Node]) -> Statistics:
    """The totals over some entries, a path for instance."""
    statistics = Statistics()
    for node in nodes:
        statistics.add(node)
    return statistics
