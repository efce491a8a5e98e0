"""Sessions to be read elsewhere, or given away: as Markdown, as one HTML page, or as a session file of their own."""

from piserver.repository.export.export import Exported, Form, Scope, export
from piserver.repository.export.redaction import Redaction

__all__ = ["Exported", "Form", "Redaction", "Scope", "export"]
