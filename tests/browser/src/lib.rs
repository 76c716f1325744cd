//! The run pages in a real browser; everything is in `tests/` (docs/testing.md).
