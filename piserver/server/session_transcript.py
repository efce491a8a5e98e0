"""`session/getTranscript`: a path as a conversation, in pieces that an editor can draw as they are."""

from __future__ import annotations

import anyio.to_thread
import msgspec
from msgspec import UNSET

from piserver.protocol.encoding import encode
from piserver.protocol.errors import RequestError
from piserver.protocol.transcript import TranscriptItem, TranscriptParams, TranscriptPart, TranscriptResult
from piserver.repository.export.images import data_url, placeholder
from piserver.server import views
from piserver.server.desk import Desk, at, chosen
from piserver.server.dispatch import Request
from piserver.session.transcript.page import transcript
from piserver.session.transcript.parts import Code, Diff, Fold, Image, Part, Prose, Remark, Section
from piserver.session.transcript.visible import visible

_TEXT = 20_000
"""Characters of one part that are shown."""
_PARTS = 400
"""Parts of one entry that are shown."""
_ITEM = 160_000
"""Characters of one entry that are shown."""
_IMAGE = 256 * 1024
"""Characters of an image's data that are sent along."""
_ANSWER = 600_000
"""Bytes of items in one answer; one item is always in it."""


class TranscriptMethods:
    """The handler that shows what was said."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def get_transcript(self, params: TranscriptParams, request: Request) -> TranscriptResult:
        opened = await self._desk.open_sessions.get(params.session_id)
        session = opened.session
        place = views.position(session, opened.handle)
        try:
            page = await transcript(
                session,
                at(params.entry_id),
                offset=params.offset,
                limit=params.limit,
                last=params.last,
                after=chosen(params.after),
                ids=chosen(params.ids),
            )
        except ValueError as error:
            raise RequestError("invalid-params", f"{error}.", data={"field": "after"}) from None

        def draw() -> tuple[int, list[TranscriptItem]]:
            sections = page.sections[::-1] if params.last else page.sections
            items: list[TranscriptItem] = []
            size = 0
            for section in sections:
                drawn = item(section, in_context=section.node.id in page.in_context)
                size += len(encode(drawn))
                if items and size > _ANSWER:
                    break
                items.append(drawn)
            if params.last:
                return page.offset + len(sections) - len(items), items[::-1]
            return page.offset, items

        offset, items = await anyio.to_thread.run_sync(draw)
        return TranscriptResult(**place, total=page.total, offset=offset, items=items)


def item(section: Section, *, in_context: bool) -> TranscriptItem:
    """One entry as it is drawn; nothing in it acts on a screen, and it is never larger than a client can bear."""
    room = _Room()
    return TranscriptItem(
        entry_id=section.node.id,
        kind=section.kind,
        title=section.title,
        about=section.about,
        timestamp=section.node.timestamp,
        label=views.given(section.label),
        in_context=views.flag(in_context),
        parts=room.parts(section.parts),
    )


class _Room:
    """What may still be shown of an entry."""

    def __init__(self) -> None:
        self._characters = _ITEM
        self._parts = _PARTS

    def parts(self, source: list[Part] | tuple[Part, ...]) -> list[TranscriptPart]:
        shown: list[TranscriptPart] = []
        for place, part in enumerate(source):
            if self._parts <= 0 or self._characters <= 0:
                rest = len(source) - place
                shown.append(TranscriptPart(kind="remark", text=f"{rest:,} more of this entry are not shown here"))
                break
            self._parts -= 1
            shown.append(self._part(part))
        return shown

    def _part(self, part: Part) -> TranscriptPart:
        match part:
            case Prose():
                return self._text(TranscriptPart(kind="prose"), part.text)
            case Code():
                language = visible(part.language)
                return self._text(TranscriptPart(kind="code", language=language or UNSET), part.text)
            case Diff():
                return self._text(TranscriptPart(kind="diff"), "\n".join(part.lines))
            case Remark():
                return self._text(TranscriptPart(kind="remark", failure=views.flag(part.failure)), part.text)
            case Image():
                return self._image(part)
            case Fold():
                return TranscriptPart(
                    kind="fold",
                    fold=part.kind,
                    name=part.name,
                    title=part.title,
                    call_id=part.call_id or UNSET,
                    open=views.flag(part.open),
                    failure=views.flag(part.failure),
                    parts=self.parts(part.parts),
                )

    def _text(self, part: TranscriptPart, text: str) -> TranscriptPart:
        length = min(_TEXT, max(1_000, self._characters))
        self._characters -= min(len(text), length)
        cut = len(text) - length
        return msgspec.structs.replace(part, text=visible(text[:length]), cut=cut if cut > 0 else UNSET)

    def _image(self, image: Image) -> TranscriptPart:
        url = data_url(image) if len(image.data) <= min(_IMAGE, self._characters * 4) else None
        if url is None:
            return TranscriptPart(kind="image", text=placeholder(image))
        media_type, _, data = url.removeprefix("data:").partition(";base64,")
        self._characters -= len(data) // 4
        return TranscriptPart(kind="image", text=placeholder(image), media_type=media_type, data=data)
