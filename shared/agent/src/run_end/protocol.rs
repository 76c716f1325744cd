//! Inputs and actions at a run's end.

use std::time::Duration;

use ars_types::RunStatus;

/// Wait between two final flush attempts.
pub const FLUSH_BACKOFF: Duration = Duration::from_secs(1);
/// How long the thread stays claimed for the final flush: two leases.
pub const FLUSH_TIMEOUT: Duration = Duration::from_secs(60);
/// Wait between two attempts to write a lost record.
pub const RECORD_BACKOFF: Duration = Duration::from_secs(5);
/// How long a lost record is retried: as long as a shutdown may wait for it.
pub const RECORD_RETRY_TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// The run's standing in the ledger when the loop ends.
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
        /// How the run ended.
        status: RunStatus,
        /// There is an answer to deliver. A hard stop leaves none.
        has_answer: bool,
    },
    /// The run is stored at a step boundary and goes to another process.
    HandedOff,
    /// The ledger reported that another generation owns the run.
    FencedOut,
    /// The process shuts down and a successor can reclaim the runs.
    ShutdownRequested,
    /// The response to [`Operation::AcquireReplyPermit`].
    Permit(ReplyPermit),
    /// The response to [`Operation::Flush`].
    Flushed(FinalFlush),
    /// The response to [`Operation::SendReply`].
    Replied {
        /// The channel accepted the reply.
        delivered: bool,
    },
    /// Answers [`Operation::MarkReplied`], whether or not the ledger took the mark.
    ReplyMarked,
    /// Answers [`Operation::WriteRecord`] and [`Operation::RetryLostRecord`].
    Record(RecordWrite),
    /// The [`Operation::Wait`] is over.
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

/// The outcome when a flush also reads the run's inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FinalFlush {
    /// The ledger answered, or refused in a way that no retry changes.
    Done,
    /// The ledger did not respond; the inbox may hold unread follow-ups.
    Failed,
}

/// The outcome when the final record is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RecordWrite {
    /// It is the run's record.
    Written,
    /// Another process owns the run or has ended it: that process's record counts.
    OwnedElsewhere,
    /// No store accepted it.
    Lost,
}

/// Selects among the unread follow-ups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FollowUps {
    /// All unread follow-ups.
    All,
    /// Those that the ledger's inbox does not hold, so that no other process can read them.
    Local,
}

/// An effect to perform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// Perform an operation and feed the answer back before the next step.
    Await(Operation),
    /// Publish the answer event.
    PublishAnswer,
    /// Mark the run finished in the registry, with the cost.
    Finish(RunStatus),
    /// Settle the reserved spend with the run's cost.
    SettleSpend,
    /// Close the mailbox of a run that is over. The content becomes unread follow-ups.
    CloseMailbox,
    /// Take the mailbox content as unread follow-ups, and leave the mailbox open.
    CollectFollowUps,
    /// Report cost and status to the channel.
    SendReceipt(RunStatus),
    /// End the run's stream. The record is built from the run as it is then.
    Seal {
        /// Whether the reply was delivered; `None` without a reply.
        reply_ok: Option<bool>,
        /// The record's status.
        status: RunStatus,
    },
    /// Reject those unread follow-ups that cannot run as a turn.
    /// Repeating a rejection after a crash is harmless, so this precedes the record.
    RejectFollowUps(FollowUps),
    /// Run the remaining follow-ups as a single turn.
    DispatchFollowUps(FollowUps),
    /// Pass those that the ledger's inbox lacks to the run's owner. The others are with the owner already.
    ForwardFollowUps,
    /// Release the thread. The mailbox is neither closed nor emptied.
    FreeThread,
    /// Reflect on the run for memory.
    Reflect,
    /// Offer the run to the next generation in the ledger.
    HandOff,
    /// Close the mailbox of a run that continues in another process. The content becomes unread
    /// follow-ups.
    RedirectMailbox,
    /// Remove the run from this process without a record. Viewers reconnect where it continues, and
    /// a waiting caller receives the run id.
    AbortLocal,
}

/// An action that has an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Ask the ledger for the right to reply. Answered by [`Input::Permit`].
    AcquireReplyPermit(RunStatus),
    /// Flush the last events and read the inbox; [`Input::Flushed`] answers at the deadline at the latest.
    Flush {
        /// Deadline on the clock that `step` uses.
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
        /// The same as in [`Operation::WriteRecord`].
        flush_first: bool,
    },
    /// Wait. Answered by [`Input::Elapsed`].
    Wait(Duration),
}
