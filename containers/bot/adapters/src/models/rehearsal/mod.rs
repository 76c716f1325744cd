//! The rehearsal model: a script with the same words and actions every time. A newcomer without a
//! key sees real tools act. The words are labelled as a rehearsal everywhere.
//!
//! # The script
//! A TOML file (or the same shape as JSON, in a file with the extension `.json`):
//! ```toml
//! [[turn]]                                   # one answer of the model
//! text = "I look at the tests first."        # optional prose
//! [[turn.call]]                              # optional tool calls, in order
//! tool = "bash"
//! input = { command = "cargo test" }
//!
//! [[turn]]
//! when_last_result_contains = "FAILED"       # optional conditions; all of them must hold
//! text = "One fails; I fix it."
//!
//! [[turn]]
//! when_last_result_lacks = "FAILED"
//! when_request_contains = "test"
//! text = "All tests pass."
//! ```
//! Each answer is the next turn with conditions that hold. Turns in between are skipped
//! permanently. *Last result* is the tool results' text just before the answer (empty without any),
//! *request* the requester's latest text; a new request starts the script from the top.
//!
//! The script position is computed from the conversation, so the model has no state, and a resumed
//! run continues where it was. After the last turn it answers that the script has ended.

mod model;
mod script;

pub use model::Rehearsal;
