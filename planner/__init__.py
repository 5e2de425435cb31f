"""Decide what hardware to buy for LLM inference."""

__version__ = "0.1.0"
