//! The errors of the run loop and of resumes.

use crate::money::DECIMALS;

/// The text is not an amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "an amount must be dollars such as `3` or `0.25`, with at most {DECIMALS} digits behind the point"
)]
pub struct AmountError;

/// The first missing piece.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Gap {
    /// A whole turn.
    #[error("turn {0} is missing")]
    Turn(u64),
    /// A part of a turn.
    #[error("part {part} of turn {turn} is missing")]
    Part {
        /// The turn.
        turn: u64,
        /// Its place in the turn.
        part: u64,
    },
    /// Data that a part refers to.
    #[error("attachment {name} of turn {turn} is missing")]
    Attachment {
        /// The turn.
        turn: u64,
        /// The attachment's name.
        name: String,
    },
    /// A part that cannot be parsed, such as one of a later version.
    #[error("part {part} of turn {turn} cannot be read")]
    Unreadable {
        /// The turn.
        turn: u64,
        /// Its place in the turn.
        part: u64,
    },
}

/// The reason for closing a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// It was reclaimed while it replied.
    #[error("the run had ended and was about to reply")]
    Ended,
    /// It had ended, possibly with a reply. A second reply would be worse than none.
    #[error("the run had ended; whether it replied is not known")]
    MaybeReplied,
    /// A hard stop was requested.
    #[error("the run had been asked to stop at once")]
    Stopped,
    /// It has no system prompt, which a resume needs.
    #[error("this kind of run cannot be resumed")]
    NoSpecification,
    /// It continued without storing a step.
    #[error("the run went on after a step that could not be stored")]
    Unresumable,
    /// It has no step record.
    #[error("killed before its conversation was stored")]
    NoStepRecord,
    /// The conversation is not whole.
    #[error("the stored conversation is not whole: {0}")]
    Gap(Gap),
    /// There is no conversation.
    #[error("no conversation is stored")]
    NoTurns,
    /// The conversation and the record do not match.
    #[error("{stored} turns are stored, the last step has {recorded}")]
    Turns {
        /// Turns stored.
        stored: u64,
        /// Turns of the record.
        recorded: u64,
    },
    /// The calls in flight differ from those of the last turn.
    #[error("the calls in flight are not those of the last stored turn")]
    Calls,
    /// No call is in flight, and the conversation does not end on a user turn.
    #[error("the stored conversation ends on neither a request nor results")]
    NothingToAnswer,
    /// The next step is stored and has no calls.
    #[error("the last stored turn calls for nothing")]
    NothingToRun,
    /// It was resumed too often without progress.
    #[error("resumed at step {step} too often without progress")]
    NoProgress {
        /// The step.
        step: u64,
    },
}

/// A part that a transcript cannot hold. The message contains no text of the conversation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// A part is too large.
    #[error("part {part} of turn {turn} takes {bytes} bytes, more than a transcript row holds")]
    PartTooLarge {
        /// Its turn.
        turn: u64,
        /// Its place in the turn.
        part: u64,
        /// Its bytes, as JSON or as JSON within a request.
        bytes: usize,
    },
    /// Data is too large.
    #[error("attachment {name} takes {bytes} bytes, more than a transcript attachment holds")]
    AttachmentTooLarge {
        /// The attachment's name, which contains the turn and the part.
        name: String,
        /// Its bytes.
        bytes: usize,
    },
}
