"""The context: what a model is given, projected from the log anew each time and stored nowhere.

path → entries (`select`) → messages (`project`) → what a provider takes (`llm`, `replay`). Synchronous and pure.
"""

from piserver.context.estimate import ContextTokens, estimate_context_tokens, estimate_tokens
from piserver.context.llm import convert_to_llm
from piserver.context.project import Context, ContextMessage, Projector, Transform, project
from piserver.context.replay import Change, ChangeKind, TargetModel, replay
from piserver.context.select import Excluded, Reason, Selection, WhyOut, first_kept, select

__all__ = [
    "Change",
    "ChangeKind",
    "Context",
    "ContextMessage",
    "ContextTokens",
    "Excluded",
    "Projector",
    "Reason",
    "Selection",
    "TargetModel",
    "Transform",
    "WhyOut",
    "convert_to_llm",
    "estimate_context_tokens",
    "estimate_tokens",
    "first_kept",
    "project",
    "replay",
    "select",
]
