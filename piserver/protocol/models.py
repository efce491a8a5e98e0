"""The methods `model/*` and `tools/*`: what a session's turns are made with."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, UnsetType

from piserver.protocol.base import Params, Shape
from piserver.protocol.sessions import ChangeParams, ChangeResult, SessionParams
from piserver.providers.base import Level


class ModelListParams(Params, kw_only=True):
    """A session, whose model is then marked, or none."""

    session_id: str | UnsetType = UNSET


class ModelPrice(Shape, kw_only=True):
    """USD for a million tokens."""

    input: float
    output: float
    cache_read: float
    cache_write: float


class ModelInfo(Shape, kw_only=True):
    """A model. `window` and `maxTokens` (of an answer) are tokens.

    `usable` false: `problem` says why, and what to do. `selected`: the session's model.
    """

    provider: str
    model_id: str
    name: str
    api: str
    window: int
    max_tokens: int
    input: list[Literal["text", "image"]]
    thinking_levels: list[Level]
    price: ModelPrice
    usable: bool
    problem: str | UnsetType = UNSET
    selected: bool | UnsetType = UNSET


class ModelListResult(Shape, kw_only=True):
    """Every model known, usable ones first. `problems` are sentences about files that could not be used as they are."""

    models: list[ModelInfo]
    problems: list[str]


class ModelSetParams(ChangeParams, kw_only=True):
    """The model that answers from now on."""

    provider: str
    model_id: str


class ThinkingParams(ChangeParams, kw_only=True):
    """How much the model thinks from now on."""

    level: Level


class ThinkingResult(ChangeResult, kw_only=True):
    """`level` is the one set: the nearest that the model has."""

    level: Level


class ToolInfo(Shape, kw_only=True):
    """A tool. `parameters` is a JSON Schema; `permission` what the settings say of its calls."""

    name: str
    description: str
    parameters: dict[str, Any]
    active: bool
    permission: Literal["allow", "ask", "deny"]


class ToolsListResult(Shape, kw_only=True):
    """Every tool there is."""

    session_id: str
    tools: list[ToolInfo]


class ToolsSetParams(ChangeParams, kw_only=True):
    """The tools that are offered to the model from now on."""

    names: list[str]


class ToolsListParams(SessionParams, kw_only=True):
    """A session."""
