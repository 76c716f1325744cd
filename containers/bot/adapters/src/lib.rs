//! Lands in this slice.
