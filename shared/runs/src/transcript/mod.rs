//! A live run's transcript: the conversation, for a generation that resumes it.
//!
//! - **Key:** the run's id. On the edge an object holds a single run; an embedded store holds all
//!   of them.
//! - **Tables:** those in `migrations/run-transcript`.
//! - **Invariants:** only the owner set last may write, and a write is atomic. Clearing deletes the
//!   owner too, so a late write is rejected. A transcript that nothing clears is deleted two weeks
//!   after its last write.
//!
//! Not here: encoding parts, and checking that a transcript is complete enough to resume (the
//! bot's).

mod abandoned;
mod answers;
mod clear;
mod owner;
mod read;
mod transcript_store;
mod write;

pub use abandoned::ABANDONED_AGE_MS;
pub use transcript_store::{TRANSCRIPT_MIGRATIONS, TranscriptStore};
