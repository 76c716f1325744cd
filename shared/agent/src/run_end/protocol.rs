//! Inputs and actions of the end of a run.

use std::time::Duration;

use ars_types::RunStatus;

/// Wait between two attempts of the final flush.
pub const FLUSH_BACKOFF: Duration = Duration::from_secs(1);
/// How long the thread stays claimed for the final flush: two leases.
pub const FLUSH_TIMEOUT: Duration = Duration::from_secs(60);
/// Wait between two attempts to write a lost record.
pub const RECORD_BACKOFF: Duration = Duration::from_secs(5);
/// How long a lost record is retried: as long as a shutdown may wait for it.
pub const RECORD_RETRY_TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// How the run stands in the ledger when its loop ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LedgerKnowledge {
    /// There is no ledger.
    Absent,
    /// The ledger granted the claim.
    Confirmed,
    /// The claim was not answered, so the ledger may or may not have the run.
    Unconfirmed,
}

/// An event or an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Input {
    /// The loop ended the run.
    Ended {
        /// How.
        status: RunStatus,
        /// There is an answer to deliver. A hard stop leaves none.
        has_answer: bool,
    },
    /// The run is stored at a step boundary and goes to another process.
    HandedOff,
    /// The ledger reported that another generation owns the run.
    FencedOut,
    /// The process shuts down and a successor can reclaim its runs.
    ShutdownRequested,
    /// Answers [`Operation::AcquireReplyPermit`].
    Permit(ReplyPermit),
    /// Answers [`Operation::Flush`].
    Flushed(FinalFlush),
    /// Answers [`Operation::SendReply`].
    Replied {
        /// The channel accepted the reply.
        delivered: bool,
    },
    /// Answers [`Operation::MarkReplied`], whether or not the ledger took the mark.
    ReplyMarked,
    /// Answers [`Operation::WriteRecord`] and [`Operation::RetryLostRecord`].
    Record(RecordWrite),
    /// Answers [`Operation::Wait`].
    Elapsed,
}

/// Whether the run may reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReplyPermit {
    /// Only this process may reply.
    Granted,
    /// Another process owns the run, or has replied.
    Denied,
    /// The ledger did not answer in time.
    Unavailable,
}

/// Result of a flush that also reads the run's inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FinalFlush {
    /// The ledger answered, or refused in a way that no retry changes.
    Done,
    /// The ledger did not answer; its inbox may hold unread follow-ups.
    Failed,
}

/// Result of writing the final record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RecordWrite {
    /// It is the run's record.
    Written,
    /// Another process owns the run or has ended it: its record counts.
    OwnedElsewhere,
    /// No store accepted it.
    Lost,
}

/// A part of the unread follow-ups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FollowUps {
    /// All of them.
    All,
    /// Those that the ledger's inbox does not hold, so that no other process can read them.
    Local,
}

/// An effect to perform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// Perform an operation and feed its answer back before the next step.
    Await(Operation),
    /// Publish the answer event.
    PublishAnswer,
    /// Mark the run finished in the registry, with its cost.
    Finish(RunStatus),
    /// Settle the reserved spend with the cost of the run.
    SettleSpend,
    /// Close the mailbox of a run that is over. Its content becomes unread follow-ups.
    CloseMailbox,
    /// Take the content of the mailbox as unread follow-ups, and leave it open.
    CollectFollowUps,
    /// Report cost and status to the channel.
    SendReceipt(RunStatus),
    /// End the run's stream. The record is built from the run as it is then.
    Seal {
        /// Whether the reply was delivered; `None` without a reply.
        reply_ok: Option<bool>,
        /// The status of the record.
        status: RunStatus,
    },
    /// Reject those unread follow-ups that cannot run as a turn.
    /// Repeating a rejection after a crash is harmless, so this precedes the record.
    RejectFollowUps(FollowUps),
    /// Run the remaining ones as one turn.
    DispatchFollowUps(FollowUps),
    /// Pass those that the ledger's inbox lacks to the run's owner. The others are with the owner already.
    ForwardFollowUps,
    /// Release the thread. The mailbox is neither closed nor emptied.
    FreeThread,
    /// Reflect on the run for memory.
    Reflect,
    /// Offer the run to the next generation in the ledger.
    HandOff,
    /// Close the mailbox of a run that continues in another process. Its content becomes unread follow-ups.
    RedirectMailbox,
    /// Remove the run from this process without a record.
    /// Its viewers reconnect where it continues, and a caller that waits receives the run's id.
    AbortLocal,
}

/// An action that has an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Ask the ledger for the right to reply. Answered by [`Input::Permit`].
    AcquireReplyPermit(RunStatus),
    /// Flush the last events and read the inbox; [`Input::Flushed`] answers at the deadline at the latest.
    Flush {
        /// On the clock of `step`.
        deadline: Option<Duration>,
    },
    /// Deliver the answer. Answered by [`Input::Replied`].
    SendReply,
    /// Store that the reply was delivered. Answered by [`Input::ReplyMarked`].
    MarkReplied(RunStatus),
    /// Write the final record. Answered by [`Input::Record`].
    WriteRecord {
        /// Each attempt flushes first, and fails where the flush does: the record removes the run's inbox.
        flush_first: bool,
    },
    /// Try once more to write a lost record. Answered by [`Input::Record`].
    RetryLostRecord {
        /// As in [`Operation::WriteRecord`].
        flush_first: bool,
    },
    /// Wait. Answered by [`Input::Elapsed`].
    Wait(Duration),
}
