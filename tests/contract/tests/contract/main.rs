//! The state Worker's contract: check order, every field's rule, and responses. The built Worker's
//! responses equal those from the stores in this process.

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
