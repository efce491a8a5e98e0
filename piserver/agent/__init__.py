"""Turns: a model is asked, its tools are run, and all of it is written to the session as it happens."""
