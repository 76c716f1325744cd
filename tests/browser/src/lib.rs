//! The run pages in a real browser. All code is in `tests/` (docs/testing.md).
