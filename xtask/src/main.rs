//! Lands in this slice.
fn main() {}
