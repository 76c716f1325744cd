//! The state machine.
//!
//! The order on the regular course: permit, answer, finish, final flush, receipt, reply, seal, rejected follow-ups,
//! record, thread, dispatched follow-ups, reflection. The thread stays claimed until the record has replaced the live
//! run, so that every message reaches an inbox that is still read.

use std::time::Duration;

use ars_types::RunStatus;

use super::protocol::{
    Action, FLUSH_BACKOFF, FLUSH_TIMEOUT, FinalFlush, FollowUps, Input, LedgerKnowledge, Operation,
    RECORD_BACKOFF, RECORD_RETRY_TIMEOUT, RecordWrite, ReplyPermit,
};

/// Drives a single run's end.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RunEnd {
    ledger: LedgerKnowledge,
    state: State,
    /// How the loop ended the run; `Interrupted` until it did.
    status: RunStatus,
    has_answer: bool,
    /// `None` before the ledger was asked, and for a run without an answer.
    permit: Option<ReplyPermit>,
    /// `None` before the reply, and for a run without one.
    reply_ok: Option<bool>,
    inbox: Inbox,
    is_fenced: bool,
    is_shutting_down: bool,
}

/// The answer that the machine waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum State {
    Running,
    AcquiringPermit,
    Flushing,
    Replying,
    MarkingReply,
    /// Sealed, and the final flush is repeated until the deadline.
    Reflushing {
        deadline: Duration,
        step: RetryStep,
    },
    Recording,
    RetryingRecord {
        deadline: Duration,
        step: RetryStep,
    },
    Over,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum RetryStep {
    BackingOff,
    Trying,
}

/// The run's inbox in the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Inbox {
    /// It was not read, so it may hold unread follow-ups, and the run may be another process's.
    Unread,
    /// It was read, and the mailbox is closed.
    Drained,
    /// The run is fenced out, so the inbox belongs to the owner.
    OwnedElsewhere,
}

impl RunEnd {
    /// Creates the machine for a run that is still running.
    pub const fn new(ledger: LedgerKnowledge) -> Self {
        Self {
            ledger,
            state: State::Running,
            status: RunStatus::Interrupted,
            has_answer: false,
            permit: None,
            reply_ok: None,
            inbox: Inbox::Unread,
            is_fenced: false,
            is_shutting_down: false,
        }
    }

    /// Whether nothing is left to do.
    pub fn is_over(&self) -> bool {
        self.state == State::Over
    }

    /// Advances the machine. `now` is the time since any fixed moment on a clock that never goes back.
    pub fn step(&mut self, input: Input, now: Duration) -> Vec<Action> {
        match (self.state, input) {
            (State::Over, _) => Vec::new(),
            (_, Input::FencedOut) => self.fenced_out(),
            (_, Input::ShutdownRequested) => self.shutdown_requested(),
            (State::Running, Input::Ended { status, has_answer }) => self.ended(status, has_answer),
            (State::Running, Input::HandedOff) => self.handed_off(),
            (State::AcquiringPermit, Input::Permit(permit)) => self.permit_answered(permit),
            (State::Flushing, Input::Flushed(flush)) => self.flushed(flush, now),
            (State::Replying, Input::Replied { delivered }) => self.replied(delivered, now),
            (State::MarkingReply, Input::ReplyMarked) => self.seal(now),
            (State::Reflushing { deadline, step }, input) => match (step, input) {
                (RetryStep::Trying, Input::Flushed(flush)) => self.reflushed(flush, deadline, now),
                (RetryStep::BackingOff, Input::Elapsed) => self.reflush(deadline, now),
                _ => Vec::new(),
            },
            (State::Recording, Input::Record(write)) => self.recorded(write, now),
            (State::RetryingRecord { deadline, step }, input) => match (step, input) {
                (RetryStep::Trying, Input::Record(write)) => {
                    self.record_retried(write, deadline, now)
                }
                (RetryStep::BackingOff, Input::Elapsed) => self.retry_record(deadline),
                _ => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    fn ended(&mut self, status: RunStatus, has_answer: bool) -> Vec<Action> {
        self.status = status;
        self.has_answer = has_answer;
        if has_answer && self.ledger != LedgerKnowledge::Absent {
            self.state = State::AcquiringPermit;
            return vec![Action::Await(Operation::AcquireReplyPermit(status))];
        }
        self.finish()
    }

    fn handed_off(&mut self) -> Vec<Action> {
        self.state = State::Over;
        vec![
            Action::HandOff,
            Action::RedirectMailbox,
            Action::ForwardFollowUps,
            Action::AbortLocal,
        ]
    }

    /// Decides for a run that is fenced out. Without a permit the owner replies and writes the
    /// record. With a permit, only this process may reply, so it continues and the record write
    /// decides. A requested permit may already be granted, so the machine awaits the response.
    fn fenced_out(&mut self) -> Vec<Action> {
        self.is_fenced = true;
        match self.state {
            State::Running => self.abort(),
            State::Flushing if self.permit != Some(ReplyPermit::Granted) => self.abort(),
            _ => Vec::new(),
        }
    }

    fn abort(&mut self) -> Vec<Action> {
        self.state = State::Over;
        vec![
            Action::AbortLocal,
            Action::RedirectMailbox,
            Action::ForwardFollowUps,
        ]
    }

    fn permit_answered(&mut self, permit: ReplyPermit) -> Vec<Action> {
        self.permit = Some(permit);
        match permit {
            ReplyPermit::Granted => self.finish(),
            ReplyPermit::Unavailable if !self.is_fenced => self.finish(),
            ReplyPermit::Denied | ReplyPermit::Unavailable => self.abort(),
        }
    }

    fn finish(&mut self) -> Vec<Action> {
        let mut actions = Vec::new();
        if self.has_answer {
            actions.push(Action::PublishAnswer);
        }
        actions.extend([
            Action::Finish(self.status),
            Action::SettleSpend,
            Action::Await(Operation::Flush { deadline: None }),
        ]);
        self.state = State::Flushing;
        actions
    }

    fn flushed(&mut self, flush: FinalFlush, now: Duration) -> Vec<Action> {
        let mut actions = Vec::new();
        if flush == FinalFlush::Done {
            self.inbox = Inbox::Drained;
            actions.push(Action::CloseMailbox);
        }
        actions.push(Action::SendReceipt(self.status));
        if self.has_answer {
            self.state = State::Replying;
            actions.push(Action::Await(Operation::SendReply));
        } else {
            actions.extend(self.seal(now));
        }
        actions
    }

    fn replied(&mut self, delivered: bool, now: Duration) -> Vec<Action> {
        self.reply_ok = Some(delivered);
        if delivered && self.ledger != LedgerKnowledge::Absent {
            self.state = State::MarkingReply;
            return vec![Action::Await(Operation::MarkReplied(self.status))];
        }
        self.seal(now)
    }

    fn seal(&mut self, now: Duration) -> Vec<Action> {
        let status = recorded_status(self.status, self.reply_ok);
        let mut actions = vec![Action::Seal {
            reply_ok: self.reply_ok,
            status,
        }];
        // Without a confirmed claim there is usually no inbox, and the thread must not wait for a ledger that is down.
        let waits = self.ledger == LedgerKnowledge::Confirmed && !self.stops_waiting();
        actions.extend(match self.inbox {
            Inbox::Unread if waits => self.back_off_flush(now + FLUSH_TIMEOUT),
            Inbox::Unread => self.record_with_unknown_owner(),
            Inbox::Drained | Inbox::OwnedElsewhere => self.record(),
        });
        actions
    }

    fn back_off_flush(&mut self, deadline: Duration) -> Vec<Action> {
        self.state = State::Reflushing {
            deadline,
            step: RetryStep::BackingOff,
        };
        vec![Action::Await(Operation::Wait(FLUSH_BACKOFF))]
    }

    fn reflush(&mut self, deadline: Duration, now: Duration) -> Vec<Action> {
        if now >= deadline {
            return self.record_with_unknown_owner();
        }
        self.state = State::Reflushing {
            deadline,
            step: RetryStep::Trying,
        };
        vec![Action::Await(Operation::Flush {
            deadline: Some(deadline),
        })]
    }

    fn reflushed(&mut self, flush: FinalFlush, deadline: Duration, now: Duration) -> Vec<Action> {
        match flush {
            FinalFlush::Done => {
                self.inbox = Inbox::Drained;
                let mut actions = vec![Action::CloseMailbox];
                actions.extend(self.record());
                actions
            }
            FinalFlush::Failed if now >= deadline => self.record_with_unknown_owner(),
            FinalFlush::Failed => self.back_off_flush(deadline),
        }
    }

    fn record(&mut self) -> Vec<Action> {
        self.state = State::Recording;
        let follow_ups = if self.is_fenced {
            self.inbox = Inbox::OwnedElsewhere;
            Action::ForwardFollowUps
        } else {
            Action::RejectFollowUps(FollowUps::All)
        };
        vec![
            follow_ups,
            Action::Await(Operation::WriteRecord { flush_first: false }),
        ]
    }

    /// The ledger did not respond and another process may have reclaimed the run. The inbox stays
    /// untouched until the record write decides, and the thread does not wait for that.
    fn record_with_unknown_owner(&mut self) -> Vec<Action> {
        self.state = State::Recording;
        vec![
            Action::CollectFollowUps,
            Action::RejectFollowUps(FollowUps::Local),
            Action::Await(Operation::WriteRecord { flush_first: true }),
        ]
    }

    fn recorded(&mut self, write: RecordWrite, now: Duration) -> Vec<Action> {
        let mut actions = vec![Action::FreeThread];
        match (self.inbox, write) {
            (Inbox::OwnedElsewhere, _) => {}
            (Inbox::Drained, RecordWrite::Written | RecordWrite::Lost) => {
                actions.push(Action::DispatchFollowUps(FollowUps::All));
            }
            // The new owner found the others in the inbox.
            (Inbox::Drained, RecordWrite::OwnedElsewhere) => {
                actions.extend([
                    Action::DispatchFollowUps(FollowUps::Local),
                    Action::ForwardFollowUps,
                ]);
            }
            (Inbox::Unread, _) => actions.push(Action::DispatchFollowUps(FollowUps::Local)),
        }
        // Without a ledger no later process learns about the run, and the store's own retries are
        // used up.
        let is_retried = write == RecordWrite::Lost
            && self.ledger != LedgerKnowledge::Absent
            && !self.stops_waiting();
        actions.extend(if is_retried {
            self.back_off_record(now + RECORD_RETRY_TIMEOUT)
        } else {
            self.conclude(write)
        });
        actions
    }

    fn back_off_record(&mut self, deadline: Duration) -> Vec<Action> {
        self.state = State::RetryingRecord {
            deadline,
            step: RetryStep::BackingOff,
        };
        vec![Action::Await(Operation::Wait(RECORD_BACKOFF))]
    }

    fn retry_record(&mut self, deadline: Duration) -> Vec<Action> {
        self.state = State::RetryingRecord {
            deadline,
            step: RetryStep::Trying,
        };
        vec![Action::Await(Operation::RetryLostRecord {
            flush_first: self.inbox == Inbox::Unread,
        })]
    }

    fn record_retried(
        &mut self,
        write: RecordWrite,
        deadline: Duration,
        now: Duration,
    ) -> Vec<Action> {
        if write == RecordWrite::Lost && now < deadline {
            self.back_off_record(deadline)
        } else {
            self.conclude(write)
        }
    }

    fn conclude(&mut self, write: RecordWrite) -> Vec<Action> {
        self.state = State::Over;
        let mut actions = Vec::new();
        if self.inbox == Inbox::Unread {
            actions.push(Action::CloseMailbox);
            actions.extend(match write {
                RecordWrite::Written => {
                    vec![
                        Action::RejectFollowUps(FollowUps::All),
                        Action::DispatchFollowUps(FollowUps::All),
                    ]
                }
                RecordWrite::OwnedElsewhere | RecordWrite::Lost => vec![Action::ForwardFollowUps],
            });
        }
        // Where the ledger still has the run, the next owner reflects on it.
        let is_last_owner = match write {
            RecordWrite::Written => true,
            RecordWrite::OwnedElsewhere => false,
            RecordWrite::Lost => self.ledger == LedgerKnowledge::Absent,
        };
        if is_last_owner && self.status != RunStatus::StoppedHard {
            actions.push(Action::Reflect);
        }
        actions
    }

    fn shutdown_requested(&mut self) -> Vec<Action> {
        self.is_shutting_down = true;
        if !self.stops_waiting() {
            return Vec::new();
        }
        match self.state {
            State::Reflushing { .. } => self.record_with_unknown_owner(),
            State::RetryingRecord { .. } => self.conclude(RecordWrite::Lost),
            _ => Vec::new(),
        }
    }

    /// A shutdown waits for no store that is down, because the next process finds the run in the
    /// ledger. The exception is a reply without a permit: only this process knows about it, and the
    /// next process would repeat it.
    fn stops_waiting(&self) -> bool {
        let replied_without_permit = self.ledger == LedgerKnowledge::Confirmed
            && self.permit == Some(ReplyPermit::Unavailable);
        self.is_shutting_down && !replied_without_permit
    }
}

/// Returns the recorded status: an undelivered reply makes a completed run `failed`, not a stopped
/// run.
pub fn recorded_status(status: RunStatus, reply_ok: Option<bool>) -> RunStatus {
    match (status, reply_ok) {
        (RunStatus::Completed, Some(false)) => RunStatus::Failed,
        (status, _) => status,
    }
}
