"""Hypothesis without deadlines, as machines may be busy, and with the same examples each run."""

from hypothesis import settings

settings.register_profile("xdspec", deadline=None, derandomize=True)
settings.load_profile("xdspec")
