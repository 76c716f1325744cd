//! Errors from the run loop and from resumes.

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
    /// A whole turn is missing.
    #[error("turn {0} is missing")]
    Turn(u64),
    /// A part is missing from a turn.
    #[error("part {part} of turn {turn} is missing")]
    Part {
        /// The turn's number in the conversation.
        turn: u64,
        /// The part's place in the turn.
        part: u64,
    },
    /// Data that a part refers to.
    #[error("attachment {name} of turn {turn} is missing")]
    Attachment {
        /// The turn's number in the conversation.
        turn: u64,
        /// Name of the missing attachment.
        name: String,
    },
    /// A part that cannot be parsed, for example because a later version wrote it.
    #[error("part {part} of turn {turn} cannot be read")]
    Unreadable {
        /// The turn's number in the conversation.
        turn: u64,
        /// The part's place in the turn.
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
        /// Number of stored turns.
        stored: u64,
        /// Number of turns according to the record.
        recorded: u64,
    },
    /// The calls in flight differ from the last turn's calls.
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
        /// The step without progress.
        step: u64,
    },
}

/// A part that a transcript cannot hold. The message contains no conversation text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// A part is too large.
    #[error("part {part} of turn {turn} takes {bytes} bytes, more than a transcript row holds")]
    PartTooLarge {
        /// The turn that contains the part.
        turn: u64,
        /// The part's place in the turn.
        part: u64,
        /// Size in bytes, as JSON or as JSON within a request.
        bytes: usize,
    },
    /// Data is too large.
    #[error("attachment {name} takes {bytes} bytes, more than a transcript attachment holds")]
    AttachmentTooLarge {
        /// The attachment's name, which contains the turn and the part.
        name: String,
        /// The attachment's size in bytes.
        bytes: usize,
    },
}
