"""The tree over a session's entries: an index that is derived from the log alone and can be rebuilt from it.

Synchronous and pure. It knows heads, not bodies, and nothing of where the log lies.
"""

from piserver.tree.diagnostics import Diagnostic, DiagnosticKind
from piserver.tree.node import Label, Model, Node, State
from piserver.tree.statistics import ModelUsage, Statistics, statistics_of
from piserver.tree.tree import Tree

__all__ = [
    "Diagnostic",
    "DiagnosticKind",
    "Label",
    "Model",
    "ModelUsage",
    "Node",
    "State",
    "Statistics",
    "Tree",
    "statistics_of",
]
