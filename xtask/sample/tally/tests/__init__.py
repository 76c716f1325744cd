"""Tests, run by `python3 -m unittest`."""
