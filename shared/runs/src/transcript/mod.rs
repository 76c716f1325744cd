//! The transcript of a live run: its conversation, for a generation that resumes it.
//!
//! - **Key:** the run's id. On the edge an object holds one run; an embedded store holds all of them.
//! - **Tables:** those of `migrations/run-transcript`.
//! - **Invariants:** only the owner set last may write, and a write is atomic. Clearing deletes the owner too, so a
//!   late write is rejected. A transcript that nothing clears is deleted two weeks after its last write.
//!
//! Not here: the encoding of parts, and the check that a transcript is complete enough to resume (the bot's).

mod abandoned;
mod answers;
mod clear;
mod owner;
mod read;
mod transcript_store;
mod write;

pub use abandoned::ABANDONED_AGE_MS;
pub use transcript_store::{TRANSCRIPT_MIGRATIONS, TranscriptStore};
