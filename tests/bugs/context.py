"""What a model would be sent, in few words."""

from typing import Any

from piserver.context import Change, convert_to_llm, replay
from piserver.entries.types import MessageDraft
from piserver.session import Session


def said(text: str) -> MessageDraft:
    """A user message to append."""
    return MessageDraft(message={"role": "user", "content": text})


def replied(text: str) -> MessageDraft:
    """An answer to append."""
    return MessageDraft(message={"role": "assistant", "content": [{"type": "text", "text": text}]})


async def sources(session: Session, *at: str | None) -> list[str]:
    """The entries that the context at a leaf is made of, in order."""
    return [message.node.id for message in (await session.build_context(*at)).messages]


async def sent(session: Session, *at: str | None) -> tuple[list[str], list[Change]]:
    """The entries that a provider would be sent, and what was changed for it."""
    context = await session.build_context(*at)
    messages, changes = replay([convert_to_llm(message) for message in context.values])
    return [context.messages[message.index].node.id for message in messages], changes


def ids(nodes: Any) -> list[str]:
    return [node.id for node in nodes]
