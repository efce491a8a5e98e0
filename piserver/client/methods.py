"""Every method of the protocol as a function: parameters in, the result as its type."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypedDict, TypeVar, Unpack, overload

from msgspec import UNSET, UnsetType

from piserver.client.connection import Connection, Notifications, PartialCallback, ProgressCallback
from piserver.entries.types import AnyDraft, Replacement
from piserver.protocol import sessions as p
from piserver.protocol import upkeep as u
from piserver.protocol.base import Empty, Params
from piserver.protocol.export import ExportParams, ExportResult
from piserver.protocol.search import SearchParams, SearchResult
from piserver.protocol.shapes import EntryId
from piserver.protocol.transcript import TranscriptParams, TranscriptResult
from piserver.session import Filter

__all__ = ["ChangeOptions", "Client"]

T = TypeVar("T")
StrPath = str | os.PathLike[str]


class ChangeOptions(TypedDict, total=False):
    """What every change of a session takes; see `protocol.sessions.ChangeParams`."""

    expected_leaf_id: EntryId | None
    idempotency_key: str


class Client:
    """One server, to be had from `connect`.

    `capabilities` are those that the server announced. What is left UNSET is not sent, and the server's default holds;
    None is sent as null. Relative paths are those of this process's working directory. A method raises
    RequestError for the reasons that the protocol gives for it, ServerError for an internal error, and ConnectionLost.
    Requests may run side by side; cancelling one cancels it at the server.
    """

    def __init__(self, connection: Connection, capabilities: dict[str, Any]) -> None:
        self._connection = connection
        self.capabilities = capabilities

    # --- any method ---

    @overload
    async def request(
        self,
        method: str,
        params: Params | Mapping[str, Any] | None = ...,
        result_type: None = None,
        *,
        progress: ProgressCallback | None = ...,
        partial: PartialCallback | None = ...,
    ) -> Any: ...
    @overload
    async def request(
        self,
        method: str,
        params: Params | Mapping[str, Any] | None,
        result_type: type[T],
        *,
        progress: ProgressCallback | None = ...,
        partial: PartialCallback | None = ...,
    ) -> T: ...
    async def request(
        self,
        method: str,
        params: Params | Mapping[str, Any] | None = None,
        result_type: Any = None,
        *,
        progress: ProgressCallback | None = None,
        partial: PartialCallback | None = None,
    ) -> Any:
        """The result of a method: as `result_type`, `msgspec.Raw` for the JSON itself, else as plain values.

        `partial` is called with parts of the result as they come, which are then not in the result; they have its type.
        Raises msgspec.ValidationError for a result of another type, and what the class says.
        """
        return await self._connection.request(method, params, result_type, progress=progress, partial=partial)

    def notify(self, method: str, params: Params | Mapping[str, Any] | None = None) -> None:
        """Sends a notification."""
        self._connection.notify(method, params)

    @overload
    def on(
        self, method: Literal["session/treeChanged"], callback: Callable[[p.TreeChanged], object]
    ) -> Callable[[], None]: ...
    @overload
    def on(
        self, method: Literal["session/listChanged"], callback: Callable[[p.ListChanged], object]
    ) -> Callable[[], None]: ...
    @overload
    def on(
        self, method: Literal["session/leaseChanged"], callback: Callable[[u.LeaseChanged], object]
    ) -> Callable[[], None]: ...
    @overload
    def on(self, method: str, callback: Callable[[Any], object]) -> Callable[[], None]: ...
    def on(self, method: str, callback: Callable[[Any], object]) -> Callable[[], None]:
        """Calls `callback` with the parameters of every notification of this method; returns how to stop that.

        It is called between two messages, in their order, and must not block; what it raises is logged.
        """
        return self._connection.on(method, callback)

    def notifications(self) -> Notifications:
        """All notifications from now on, as an async iterator."""
        return self._connection.notifications()

    # --- repository ---

    async def create(
        self,
        cwd: StrPath,
        *,
        name: str | UnsetType = UNSET,
        metadata: dict[str, Any] | UnsetType = UNSET,
        path: StrPath | UnsetType = UNSET,
        idempotency_key: str | UnsetType = UNSET,
    ) -> p.Snapshot:
        """A new session for a working directory, opened and subscribed to. `path` names its file."""
        params = p.CreateParams(
            cwd=_absolute(cwd), name=name, metadata=metadata, path=_absolute(path), idempotency_key=idempotency_key
        )
        return await self.request("session/create", params, p.Snapshot)

    async def open(
        self,
        path: StrPath | UnsetType = UNSET,
        *,
        session_id: str | UnsetType = UNSET,
        create: StrPath | UnsetType = UNSET,
        subscribe: bool = True,
        rows: p.RowsParams | UnsetType = UNSET,
        at_leaf: bool = False,
        progress: ProgressCallback | None = None,
    ) -> p.Snapshot:
        """A session by the path of its file or by its id, as it is now."""
        params = p.OpenParams(
            session_id=session_id,
            path=_absolute(path),
            create=_absolute(create),
            subscribe=subscribe,
            rows=rows,
            at_leaf=at_leaf,
        )
        return await self.request("session/open", params, p.Snapshot, progress=progress)

    async def close(self, session_id: str) -> None:
        """Ends the notifications of a session."""
        await self.request("session/close", p.CloseParams(session_id=session_id), Empty)

    async def list_sessions(
        self,
        cwd: StrPath | UnsetType = UNSET,
        *,
        query: str | UnsetType = UNSET,
        since: str | UnsetType = UNSET,
        until: str | UnsetType = UNSET,
        limit: int = 1000,
        cursor: str | UnsetType = UNSET,
        progress: ProgressCallback | None = None,
        partial: Callable[[p.ListResult], object] | None = None,
    ) -> p.ListResult:
        """A page of the sessions of a directory, or of all; `cursor` is the `next_cursor` of the page before.

        `partial` is told of sessions as they are read, some twice: what comes later replaces what has the same path.
        """
        params = p.ListParams(cwd=_absolute(cwd), query=query, since=since, until=until, limit=limit, cursor=cursor)
        return await self.request("session/list", params, p.ListResult, progress=progress, partial=partial)

    async def latest(self, cwd: StrPath) -> p.LatestResult:
        """The newest session of a working directory."""
        return await self.request("session/latest", p.LatestParams(cwd=_absolute(cwd)), p.LatestResult)

    async def delete(
        self, path: StrPath | UnsetType = UNSET, *, session_id: str | UnsetType = UNSET, permanent: bool = False
    ) -> p.DeleteResult:
        """Moves a session's file to the trash, or removes it."""
        params = p.DeleteParams(session_id=session_id, path=_absolute(path), permanent=permanent)
        return await self.request("session/delete", params, p.DeleteResult)

    async def rename(self, session_id: str, name: str | None, **change: Unpack[ChangeOptions]) -> p.ChangeResult:
        """Gives a session a name, or takes it away with None."""
        params = p.RenameParams(session_id=session_id, name=name, **change)
        return await self.request("session/rename", params, p.ChangeResult)

    async def fork(
        self,
        session_id: str,
        entry_id: EntryId,
        position: Literal["before", "at"] = "before",
        *,
        cwd: StrPath | UnsetType = UNSET,
        **change: Unpack[ChangeOptions],
    ) -> p.ForkResult:
        """A new session with the path up to an entry, or up to the parent of a user message."""
        params = p.ForkParams(session_id=session_id, entry_id=entry_id, position=position, cwd=_absolute(cwd), **change)
        return await self.request("session/fork", params, p.ForkResult)

    async def clone(self, session_id: str, **change: Unpack[ChangeOptions]) -> p.ForkResult:
        """A new session with everything of this one."""
        return await self.request("session/clone", p.CloneParams(session_id=session_id, **change), p.ForkResult)

    # --- changes ---

    async def append(self, session_id: str, *entries: AnyDraft, **change: Unpack[ChangeOptions]) -> p.ChangeResult:
        """Appends entries in one write, all or none; each is the next one's parent, and the last becomes the leaf."""
        params = p.AppendParams(session_id=session_id, entries=list(entries), **change)
        return await self.request("session/append", params, p.ChangeResult)

    async def move_to(
        self,
        session_id: str,
        entry_id: EntryId | None,
        *,
        summary: p.SummaryParams | UnsetType = UNSET,
        **change: Unpack[ChangeOptions],
    ) -> p.MoveResult:
        """Makes an entry the leaf, None for before the first, and hangs a ready-made summary there if one is given."""
        params = p.MoveToParams(session_id=session_id, entry_id=entry_id, summary=summary, **change)
        return await self.request("session/moveTo", params, p.MoveResult)

    async def navigate(
        self,
        session_id: str,
        target_id: EntryId,
        *,
        summary: p.SummaryParams | UnsetType = UNSET,
        label: str | UnsetType = UNSET,
        **change: Unpack[ChangeOptions],
    ) -> p.NavigateResult:
        """What choosing an entry in a tree view does: a person's message comes back as text, to be sent anew."""
        params = p.NavigateParams(session_id=session_id, target_id=target_id, summary=summary, label=label, **change)
        return await self.request("session/navigate", params, p.NavigateResult)

    async def set_label(
        self, session_id: str, entry_id: EntryId, label: str | None, **change: Unpack[ChangeOptions]
    ) -> p.ChangeResult:
        """Names an entry, or takes its name away with None."""
        params = p.SetLabelParams(session_id=session_id, entry_id=entry_id, label=label, **change)
        return await self.request("session/setLabel", params, p.ChangeResult)

    async def edit_context(
        self,
        session_id: str,
        entry_id: EntryId,
        replacement: Replacement | None | UnsetType = UNSET,
        *,
        restore: bool = False,
        **change: Unpack[ChangeOptions],
    ) -> p.ChangeResult:
        """Takes an entry out of the context (None), puts other content in its place, or takes either back."""
        params = p.EditContextParams(
            session_id=session_id, entry_id=entry_id, replacement=replacement, restore=restore, **change
        )
        return await self.request("session/editContext", params, p.ChangeResult)

    # --- reading ---

    async def get_tree(
        self,
        session_id: str,
        *,
        filter: Filter = "default",
        query: str = "",
        collapsed: Sequence[EntryId] = (),
        offset: int = 0,
        limit: int = 200,
        around: EntryId | UnsetType = UNSET,
    ) -> p.GetTreeResult:
        """A window of the tree's rows, ready to be drawn."""
        params = p.GetTreeParams(
            session_id=session_id,
            filter=filter,
            query=query,
            collapsed=list(collapsed),
            offset=offset,
            limit=limit,
            around=around,
        )
        return await self.request("session/getTree", params, p.GetTreeResult)

    async def get_entries(
        self, session_id: str, ids: Sequence[EntryId], *, max_bytes: int | UnsetType = UNSET
    ) -> p.GetEntriesResult:
        """Whole entries as they stand in the file; those that did not fit are named in `remaining`."""
        params = p.GetEntriesParams(session_id=session_id, ids=list(ids))
        if max_bytes is not UNSET:
            params.max_bytes = max_bytes
        return await self.request("session/getEntries", params, p.GetEntriesResult)

    async def get_path(
        self, session_id: str, entry_id: EntryId | None | UnsetType = UNSET, *, offset: int = 0, limit: int = 200
    ) -> p.GetPathResult:
        """A page of the path from the root to an entry, by default the leaf."""
        params = p.GetPathParams(session_id=session_id, entry_id=entry_id, offset=offset, limit=limit)
        return await self.request("session/getPath", params, p.GetPathResult)

    async def get_transcript(
        self,
        session_id: str,
        entry_id: EntryId | None | UnsetType = UNSET,
        *,
        offset: int = 0,
        limit: int = 100,
        last: bool = False,
        after: EntryId | UnsetType = UNSET,
        ids: Sequence[EntryId] | UnsetType = UNSET,
    ) -> TranscriptResult:
        """A page of the path to an entry, by default the leaf, as a conversation ready to be drawn."""
        params = TranscriptParams(
            session_id=session_id,
            entry_id=entry_id,
            offset=offset,
            limit=limit,
            last=last,
            after=after,
            ids=ids if ids is UNSET else list(ids),
        )
        return await self.request("session/getTranscript", params, TranscriptResult)

    async def changes(self, session_id: str, epoch: str, since: int, *, limit: int = 1000) -> p.ChangesResult:
        """What came after a revision. Raises RequestError (stale-cursor) with a fresh snapshot in its `data`."""
        params = p.ChangesParams(session_id=session_id, epoch=epoch, since=since, limit=limit)
        return await self.request("session/changes", params, p.ChangesResult)

    async def build_context(
        self,
        session_id: str,
        entry_id: EntryId | None | UnsetType = UNSET,
        *,
        form: Literal["messages", "llm"] = "messages",
        model: p.TargetModel | UnsetType = UNSET,
        estimates: bool = True,
        excluded: bool = True,
    ) -> p.BuildContextResult:
        """What a model is given at an entry, by default the leaf, without moving."""
        params = p.BuildContextParams(
            session_id=session_id, entry_id=entry_id, form=form, model=model, estimates=estimates, excluded=excluded
        )
        return await self.request("session/buildContext", params, p.BuildContextResult)

    async def search(
        self,
        query: str,
        *,
        session_id: str | UnsetType = UNSET,
        cwd: StrPath | UnsetType = UNSET,
        regex: bool = False,
        match_case: bool = False,
        roles: Sequence[str] = (),
        types: Sequence[str] = (),
        limit: int = 100,
        progress: ProgressCallback | None = None,
        partial: Callable[[SearchResult], object] | None = None,
    ) -> SearchResult:
        """Where something was said: in one session, in those of a directory, or in all.

        `partial` is told of hits as they are found; the result then holds none.
        """
        params = SearchParams(
            query=query,
            session_id=session_id,
            cwd=_absolute(cwd),
            regex=regex,
            match_case=match_case,
            roles=list(roles),
            types=list(types),
            limit=limit,
        )
        return await self.request("session/search", params, SearchResult, progress=progress, partial=partial)

    async def export(
        self,
        session_id: str,
        form: Literal["markdown", "jsonl", "html"],
        *,
        scope: Literal["path", "tree"] = "path",
        entry_id: EntryId | None | UnsetType = UNSET,
        redact: bool = False,
        path: StrPath | UnsetType = UNSET,
        overwrite: bool = False,
        progress: ProgressCallback | None = None,
    ) -> ExportResult:
        """A path of a session, by default that to the leaf, or its tree, to be read or kept elsewhere.

        It is written to `path`, or comes as `content` if it is not too large for that.
        """
        params = ExportParams(
            session_id=session_id,
            form=form,
            scope=scope,
            entry_id=entry_id,
            redact=redact,
            path=_absolute(path),
            overwrite=overwrite,
        )
        return await self.request("session/export", params, ExportResult, progress=progress)

    async def stats(self, session_id: str, entry_id: EntryId | None | UnsetType = UNSET) -> p.StatsResult:
        """Messages, tokens and cost of the file and of the path to an entry, by default the leaf."""
        return await self.request(
            "session/stats", p.StatsParams(session_id=session_id, entry_id=entry_id), p.StatsResult
        )

    # --- files, and writing together ---

    async def verify(self, path: StrPath | UnsetType = UNSET, *, session_id: str | UnsetType = UNSET) -> u.VerifyResult:
        """Everything that is wrong with a session's file, and what `repair` would do; nothing is changed."""
        params = u.VerifyParams(session_id=session_id, path=_absolute(path))
        return await self.request("session/verify", params, u.VerifyResult)

    async def repair(self, path: StrPath | UnsetType = UNSET, *, session_id: str | UnsetType = UNSET) -> u.RepairResult:
        """Mends a session's file without changing what its entries say; the old one is kept beside it."""
        params = u.RepairParams(session_id=session_id, path=_absolute(path))
        return await self.request("session/repair", params, u.RepairResult)

    async def lease(
        self,
        session_id: str,
        action: Literal["status", "take", "release"] = "status",
        *,
        force: bool = False,
        purpose: str | UnsetType = UNSET,
    ) -> u.LeaseResult:
        """Says who has the session for its own changes; has it, or gives it back."""
        params = u.LeaseParams(session_id=session_id, action=action, force=force, purpose=purpose)
        return await self.request("session/lease", params, u.LeaseResult)


@overload
def _absolute(path: StrPath) -> str: ...
@overload
def _absolute(path: StrPath | UnsetType) -> str | UnsetType: ...
def _absolute(path: StrPath | UnsetType) -> str | UnsetType:
    """The server may have another working directory."""
    return UNSET if path is UNSET else os.path.abspath(path)
