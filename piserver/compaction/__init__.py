"""Summaries that change what a model is given without changing the log's past."""
