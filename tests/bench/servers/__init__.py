"""Servers that do as little as possible, each the measure of something."""
