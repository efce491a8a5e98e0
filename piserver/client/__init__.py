"""A Python client for automation.

    async with connect() as client:
        session = await client.create("/home/me/project")
        await client.append(session.session_id, MessageDraft(message={"role": "user", "content": "Hello"}))

Drafts of entries are in `piserver.entries.types`, results in `piserver.protocol`.
"""

from piserver.client.connection import Notification, Notifications, Progress
from piserver.client.errors import ConnectionLost, RequestError, ServerError
from piserver.client.methods import ChangeOptions, Client
from piserver.client.process import connect

__all__ = [
    "ChangeOptions",
    "Client",
    "ConnectionLost",
    "Notification",
    "Notifications",
    "Progress",
    "RequestError",
    "ServerError",
    "connect",
]
