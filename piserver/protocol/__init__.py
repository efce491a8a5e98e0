"""Typed parameters, results, notifications and errors of the wire, and how they become JSON."""
