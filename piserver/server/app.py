"""The server as a client meets it: what it announces, how it is set, and how it ends."""

from __future__ import annotations

import logging
from typing import Any, cast

import msgspec
from lsprotocol import types as lsp
from msgspec import UNSET

from piserver import __version__
from piserver.protocol.errors import RequestError
from piserver.protocol.registry import METHODS, NOTIFICATIONS, PROTOCOL_VERSION
from piserver.protocol.settings import Settings
from piserver.repository import Repository
from piserver.server.sessions import SessionMethods
from piserver.server.wire import FramingName, Server
from piserver.session import FILTERS

log = logging.getLogger(__name__)

_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "off": logging.CRITICAL + 1,
}


class PiServer(Server):
    """Serves the sessions of one person to one client."""

    def __init__(self) -> None:
        super().__init__("piserver", __version__)
        self.settings = Settings()
        self.repository = Repository()
        self.sessions = SessionMethods(self, self.repository)
        self.sessions.register()
        self.on_shutdown(self.sessions.close)

        @self.feature(lsp.WORKSPACE_DID_CHANGE_CONFIGURATION)
        def configure(params: lsp.DidChangeConfigurationParams) -> None:  # pyright: ignore[reportUnusedFunction]  # registered
            self._configure(params.settings)

    def on_initialize(self, params: lsp.InitializeParams) -> None:
        """Take the settings of `initializationOptions.piserver`. Raises RequestError for settings of the wrong type."""
        self._apply(_section(params.initialization_options))

    def experimental_capabilities(self, params: lsp.InitializeParams) -> dict[str, Any]:
        """What is announced under `capabilities.experimental`."""
        return {
            "piserver": {
                "protocolVersion": PROTOCOL_VERSION,
                "version": __version__,
                "methods": list(METHODS),
                "notifications": list(NOTIFICATIONS),
                "filters": list(FILTERS),
                "maxFrameBytes": self.max_frame_bytes,
            }
        }

    def _configure(self, settings: Any) -> None:
        try:
            self._apply(_section(settings))
        except RequestError as error:
            log.warning("%s The settings stay as they were.", error.message)

    def _apply(self, section: dict[str, Any]) -> None:
        """Take over the settings that are given. One that nobody knows is reported and otherwise without effect."""
        known = {name: value for name, value in section.items() if name in Settings.__struct_encode_fields__}
        for name in section.keys() - known.keys():
            log.warning("the setting piserver.%s is not known", name)
        try:
            settings = msgspec.convert(known, Settings)
        except msgspec.ValidationError as error:
            raise RequestError("invalid-params", f"The settings of piserver are invalid: {error}.") from None
        self.settings = settings
        self.set_max_frame_bytes(settings.max_frame_bytes)
        self.set_log_level(_LEVELS[settings.log_level])
        self.repository.durability = settings.durability
        self.sessions.set_durability(settings.durability)
        if settings.sessions_folder is not UNSET:
            self.repository.set_root(settings.sessions_folder)


def _section(options: Any) -> dict[str, Any]:
    """Our part of a client's options; pygls hands them over as dicts or as objects."""
    if isinstance(options, dict):
        section: Any = cast("dict[str, Any]", options).get("piserver")
    else:
        section = getattr(options, "piserver", None)
    if section is None:
        return {}
    if not isinstance(section, dict):
        raise RequestError("invalid-params", "The settings of piserver must be an object.", data={"field": "piserver"})
    return cast("dict[str, Any]", section)


def serve(framing: FramingName = "lsp", fds: tuple[int, int] | None = None) -> None:
    """Serve one client on stdio (or on the descriptors given), then end the process."""
    PiServer().start(framing, fds)
