"""pygls as it comes: what any server in Python on top of it needs to start."""

from pygls.lsp.server import LanguageServer

LanguageServer("stock", "1").start_io()
