"""The server as a client meets it: what it announces, how it is set, and how it ends."""

from __future__ import annotations

import gc
import logging
from typing import Any, cast

import msgspec
from lsprotocol import types as lsp
from msgspec import UNSET

from piserver import __version__
from piserver.protocol.capabilities import Capabilities
from piserver.protocol.errors import RequestError
from piserver.protocol.registry import METHODS, NOTIFICATIONS, PROTOCOL_VERSION
from piserver.protocol.settings import Settings
from piserver.repository import Repository, list_cache, sessions_root
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
        self._unknown: list[str] = []  # settings, until the client can be told
        self.repository = Repository(cache=list_cache())
        self.sessions = SessionMethods(self, self.repository)
        self.sessions.register()
        self.on_shutdown(self.sessions.close)

        @self.feature(lsp.INITIALIZED)
        def initialized(params: lsp.InitializedParams) -> None:  # pyright: ignore[reportUnusedFunction]  # registered
            self._warn_of_unknown()
            self.sessions.follow()

        @self.feature(lsp.WORKSPACE_DID_CHANGE_CONFIGURATION)
        def configure(params: lsp.DidChangeConfigurationParams) -> None:  # pyright: ignore[reportUnusedFunction]  # registered
            self._configure(params.settings)

    def on_initialize(self, params: lsp.InitializeParams) -> None:
        """Take the settings of `initializationOptions.piserver`. Raises RequestError for settings of the wrong type."""
        self._apply(_section(params.initialization_options) or {})
        client = params.client_info.name if params.client_info else "a client"
        self.sessions.set_program(f"piserver {__version__} for {client}")

    def experimental_capabilities(self, params: lsp.InitializeParams) -> dict[str, Any]:
        """What is announced under `capabilities.experimental`."""
        capabilities = Capabilities(
            protocol_version=PROTOCOL_VERSION,
            version=__version__,
            methods=list(METHODS),
            notifications=list(NOTIFICATIONS),
            filters=list(FILTERS),
            max_frame_bytes=self.max_frame_bytes,
        )
        return {"piserver": msgspec.to_builtins(capabilities)}

    def _configure(self, settings: Any) -> None:
        try:
            if (section := _section(settings)) is not None:
                self._apply(section)
        except RequestError as error:
            log.warning("%s The settings stay as they were.", error.message)
        self._warn_of_unknown()

    def _warn_of_unknown(self) -> None:
        for name in self._unknown:
            log.warning("the setting piserver.%s is not known", name)
        self._unknown.clear()

    def _apply(self, section: dict[str, Any]) -> None:
        """Make these the settings; what is left out has its default. One that nobody knows has no effect."""
        known = {name: value for name, value in section.items() if name in Settings.__struct_encode_fields__}
        self._unknown = [name for name in section if name not in known]
        try:
            settings = msgspec.convert(known, Settings)
        except msgspec.ValidationError as error:
            raise RequestError("invalid-params", f"The settings of piserver are invalid: {error}.") from None
        self.settings = settings
        self.set_max_frame_bytes(settings.max_frame_bytes)
        self.set_log_level(_LEVELS[settings.log_level])
        self.repository.durability = settings.durability
        self.repository.max_bytes = settings.max_session_bytes
        self.sessions.set_durability(settings.durability)
        folder = settings.sessions_folder
        self.repository.set_root(sessions_root() if folder is UNSET else folder)


def _section(options: Any) -> dict[str, Any] | None:
    """Our part of a client's options, None if there is none; pygls hands them over as dicts or as objects."""
    if isinstance(options, dict):
        section: Any = cast("dict[str, Any]", options).get("piserver")
    else:
        section = getattr(options, "piserver", None)
    if section is None:
        return None
    if not isinstance(section, dict):
        raise RequestError("invalid-params", "The settings of piserver must be an object.", data={"field": "piserver"})
    return cast("dict[str, Any]", section)


def serve(framing: FramingName = "lsp", fds: tuple[int, int] | None = None) -> None:
    """Serve one client on stdio (or on the descriptors given), then end the process."""
    server = PiServer()
    # What has been imported stays, and sessions are many small objects that stay too: look for garbage less often.
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)
    server.start(framing, fds)
