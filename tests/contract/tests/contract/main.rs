//! The state Worker's contract: the order of checks, every field's rule, and answers.
//! The answers of the built Worker equal those of the stores in this process.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(
    clippy::needless_pass_by_value,
    reason = "bodies are built inside one another"
)]

mod answers;
mod fields;
mod order;
mod pair;
mod wire;
