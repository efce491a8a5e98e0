"""Standard input and output, taken away from everybody but the protocol.

Whatever a library, a child process or a stray `print` writes to stdout would land in the middle of a frame, and a
child that inherits stdin would eat requests. So the two descriptors are duplicated for the transport, and the
well-known numbers are pointed elsewhere. This module imports nothing heavy, so that it can run before anything else.
"""

import os
import sys

__all__ = ["claim"]


def claim() -> tuple[int, int]:
    """Takes descriptors 0 and 1 for the protocol; returns private duplicates `(reading, writing)`.

    Afterwards descriptor 0 is the null device and descriptor 1 is stderr, for Python, C code and children alike;
    `sys.stdout` is `sys.stderr`. The duplicates are not inherited by children. Call it once, before pygls is imported.
    Raises OSError if the process was started with stdin or stdout closed.
    """
    sys.stdout.flush()
    reading, writing = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return reading, writing
