"""Every method and notification of our own, in the order of the document: the one source of schema and types."""

from __future__ import annotations

from dataclasses import dataclass

from piserver.protocol import sessions as s
from piserver.protocol import upkeep as u
from piserver.protocol.base import Empty, Params, Shape
from piserver.protocol.export import ExportParams, ExportResult
from piserver.protocol.search import SearchParams, SearchResult
from piserver.protocol.transcript import TranscriptParams, TranscriptResult

PROTOCOL_VERSION = 1
"""Raised when a client written for the old one would misunderstand the new one."""


@dataclass(frozen=True, slots=True)
class MethodSpec:
    """A request that clients send: its parameters and its result."""

    params: type[Params]
    result: type[Shape] | type[Empty]
    changes: bool = False
    """Whether it may write to sessions."""


METHODS: dict[str, MethodSpec] = {
    "session/create": MethodSpec(s.CreateParams, s.Snapshot, True),
    "session/open": MethodSpec(s.OpenParams, s.Snapshot),
    "session/close": MethodSpec(s.CloseParams, Empty),
    "session/list": MethodSpec(s.ListParams, s.ListResult),
    "session/latest": MethodSpec(s.LatestParams, s.LatestResult),
    "session/delete": MethodSpec(s.DeleteParams, s.DeleteResult, True),
    "session/rename": MethodSpec(s.RenameParams, s.ChangeResult, True),
    "session/append": MethodSpec(s.AppendParams, s.ChangeResult, True),
    "session/moveTo": MethodSpec(s.MoveToParams, s.MoveResult, True),
    "session/navigate": MethodSpec(s.NavigateParams, s.NavigateResult, True),
    "session/fork": MethodSpec(s.ForkParams, s.ForkResult, True),
    "session/clone": MethodSpec(s.CloneParams, s.ForkResult, True),
    "session/setLabel": MethodSpec(s.SetLabelParams, s.ChangeResult, True),
    "session/editContext": MethodSpec(s.EditContextParams, s.ChangeResult, True),
    "session/getTree": MethodSpec(s.GetTreeParams, s.GetTreeResult),
    "session/getEntries": MethodSpec(s.GetEntriesParams, s.GetEntriesResult),
    "session/getPath": MethodSpec(s.GetPathParams, s.GetPathResult),
    "session/getTranscript": MethodSpec(TranscriptParams, TranscriptResult),
    "session/changes": MethodSpec(s.ChangesParams, s.ChangesResult),
    "session/buildContext": MethodSpec(s.BuildContextParams, s.BuildContextResult),
    "session/search": MethodSpec(SearchParams, SearchResult),
    "session/export": MethodSpec(ExportParams, ExportResult),
    "session/stats": MethodSpec(s.StatsParams, s.StatsResult),
    "session/verify": MethodSpec(u.VerifyParams, u.VerifyResult),
    "session/repair": MethodSpec(u.RepairParams, u.RepairResult, True),
    "session/lease": MethodSpec(u.LeaseParams, u.LeaseResult, True),
}

NOTIFICATIONS: dict[str, type[Shape]] = {
    "session/treeChanged": s.TreeChanged,
    "session/listChanged": s.ListChanged,
    "session/leaseChanged": u.LeaseChanged,
}
