"""Images that an entry carries: which of them may be put into a page."""

from __future__ import annotations

import binascii
from base64 import b64encode

from piserver.session.transcript.parts import Image
from piserver.session.transcript.visible import line

MAX_BYTES = 4 * 1024 * 1024
"""Size of the largest image that is put into a page."""

_SIGNATURES = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
}


def data_url(image: Image) -> str | None:
    """The image as a `data:` URL; None unless it is PNG, JPEG, GIF or WebP, says so truly, and is not too large."""
    if len(image.data) > MAX_BYTES * 4 // 3 + 4 or image.media_type not in _SIGNATURES:
        return None
    try:
        data = binascii.a2b_base64(image.data, strict_mode=True)
    except (binascii.Error, ValueError):
        return None
    if not data.startswith(_SIGNATURES[image.media_type]):
        return None
    # Encoded anew, so that nothing but what was decoded gets into the page.
    return f"data:{image.media_type};base64,{b64encode(data).decode()}"


def placeholder(image: Image) -> str:
    """What stands where an image cannot: its type and about how large it is."""
    size = len(image.data) * 3 // 4
    amount = f"{size / 1024 / 1024:.1f} MB" if size >= 1024 * 1024 else f"{max(1, size // 1024)} KB"
    return f"[image {line(image.media_type, 40) or 'of no type'}, {amount}]"
