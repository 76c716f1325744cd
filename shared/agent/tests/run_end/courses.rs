//! The courses that a run's end takes, action by action.

use std::time::Duration;

use ars_agent::run_end::{
    Action::{self, *},
    FLUSH_BACKOFF, FLUSH_TIMEOUT, FinalFlush, FollowUps, Input, LedgerKnowledge,
    Operation::*,
    RECORD_BACKOFF, RECORD_RETRY_TIMEOUT, RecordWrite, ReplyPermit, RunEnd,
};
use ars_types::RunStatus::{self, *};

const COMPLETED: Input = Input::Ended {
    status: Completed,
    has_answer: true,
};
const STOPPED: Input = Input::Ended {
    status: StoppedHard,
    has_answer: false,
};
const GRANTED: Input = Input::Permit(ReplyPermit::Granted);
const UNAVAILABLE: Input = Input::Permit(ReplyPermit::Unavailable);
const FLUSHED: Input = Input::Flushed(FinalFlush::Done);
const NOT_FLUSHED: Input = Input::Flushed(FinalFlush::Failed);
const DELIVERED: Input = Input::Replied { delivered: true };
const WRITTEN: Input = Input::Record(RecordWrite::Written);
const LOST: Input = Input::Record(RecordWrite::Lost);

const FLUSH: Action = Await(Flush { deadline: None });
const WRITE: Action = Await(WriteRecord { flush_first: false });
const GIVEN_UP: [Action; 3] = [AbortLocal, RedirectMailbox, ForwardFollowUps];

/// A machine and the clock it is stepped by.
struct Course {
    end: RunEnd,
    now: Duration,
}

impl Course {
    fn with_ledger(ledger: LedgerKnowledge) -> Self {
        Self {
            end: RunEnd::new(ledger),
            now: Duration::ZERO,
        }
    }

    fn confirmed() -> Self {
        Self::with_ledger(LedgerKnowledge::Confirmed)
    }

    #[track_caller]
    fn then(mut self, input: Input, actions: &[Action]) -> Self {
        assert_eq!(self.end.step(input, self.now), actions, "after {input:?}");
        self
    }

    /// Feeds inputs without checking their actions, which another test does.
    fn fed(mut self, inputs: &[Input]) -> Self {
        for input in inputs {
            self.end.step(*input, self.now);
        }
        self
    }

    fn after(mut self, wait: Duration) -> Self {
        self.now += wait;
        self
    }

    #[track_caller]
    fn over(self) {
        assert!(self.end.is_over());
    }
}

fn sealed(reply_ok: Option<bool>, status: RunStatus) -> Action {
    Seal { reply_ok, status }
}

#[test]
fn completed_run_takes_the_whole_course() {
    Course::confirmed()
        .then(COMPLETED, &[Await(AcquireReplyPermit(Completed))])
        .then(
            GRANTED,
            &[PublishAnswer, Finish(Completed), SettleSpend, FLUSH],
        )
        .then(
            FLUSHED,
            &[CloseMailbox, SendReceipt(Completed), Await(SendReply)],
        )
        .then(DELIVERED, &[Await(MarkReplied(Completed))])
        .then(
            Input::ReplyMarked,
            &[
                sealed(Some(true), Completed),
                RejectFollowUps(FollowUps::All),
                WRITE,
            ],
        )
        .then(
            WRITTEN,
            &[FreeThread, DispatchFollowUps(FollowUps::All), Reflect],
        )
        .over();
}

#[test]
fn hard_stopped_run_ends_without_reply_or_reflection() {
    Course::confirmed()
        .then(STOPPED, &[Finish(StoppedHard), SettleSpend, FLUSH])
        .then(
            FLUSHED,
            &[
                CloseMailbox,
                SendReceipt(StoppedHard),
                sealed(None, StoppedHard),
                RejectFollowUps(FollowUps::All),
                WRITE,
            ],
        )
        .then(WRITTEN, &[FreeThread, DispatchFollowUps(FollowUps::All)])
        .over();
}

#[test]
fn run_without_a_ledger_asks_for_no_permit() {
    Course::with_ledger(LedgerKnowledge::Absent)
        .then(
            COMPLETED,
            &[PublishAnswer, Finish(Completed), SettleSpend, FLUSH],
        )
        .then(
            FLUSHED,
            &[CloseMailbox, SendReceipt(Completed), Await(SendReply)],
        )
        .then(
            DELIVERED,
            &[
                sealed(Some(true), Completed),
                RejectFollowUps(FollowUps::All),
                WRITE,
            ],
        )
        .then(
            LOST,
            &[FreeThread, DispatchFollowUps(FollowUps::All), Reflect],
        )
        .over();
}

#[test]
fn undelivered_answer_makes_the_record_failed() {
    let failing = |status| {
        Course::confirmed()
            .fed(&[
                Input::Ended {
                    status,
                    has_answer: true,
                },
                GRANTED,
                FLUSHED,
            ])
            .end
            .step(Input::Replied { delivered: false }, Duration::ZERO)[0]
    };
    assert_eq!(failing(Completed), sealed(Some(false), Failed));
    assert_eq!(failing(StoppedSoft), sealed(Some(false), StoppedSoft));
    assert_eq!(failing(Failed), sealed(Some(false), Failed));
}

#[test]
fn denied_permit_aborts_the_run_here() {
    Course::confirmed()
        .fed(&[COMPLETED])
        .then(Input::Permit(ReplyPermit::Denied), &GIVEN_UP)
        .over();
}

#[test]
fn fenced_run_without_a_permit_is_aborted() {
    Course::confirmed().then(Input::FencedOut, &GIVEN_UP).over();
    Course::confirmed()
        .fed(&[COMPLETED, Input::FencedOut])
        .then(UNAVAILABLE, &GIVEN_UP)
        .over();
    Course::confirmed()
        .fed(&[COMPLETED, UNAVAILABLE])
        .then(Input::FencedOut, &GIVEN_UP)
        .over();
    Course::confirmed()
        .fed(&[STOPPED])
        .then(Input::FencedOut, &GIVEN_UP)
        .over();
}

#[test]
fn fenced_run_with_a_permit_replies() {
    let fenced_before = Course::confirmed()
        .fed(&[COMPLETED])
        .then(Input::FencedOut, &[])
        .fed(&[GRANTED]);
    let fenced_after = Course::confirmed()
        .fed(&[COMPLETED, GRANTED])
        .then(Input::FencedOut, &[]);
    for course in [fenced_before, fenced_after] {
        course
            .then(
                FLUSHED,
                &[CloseMailbox, SendReceipt(Completed), Await(SendReply)],
            )
            .fed(&[DELIVERED])
            .then(
                Input::ReplyMarked,
                &[sealed(Some(true), Completed), ForwardFollowUps, WRITE],
            )
            .then(Input::Record(RecordWrite::OwnedElsewhere), &[FreeThread])
            .over();
    }
}

#[test]
fn run_fenced_at_its_record_dispatches_local_follow_ups_only() {
    Course::confirmed()
        .fed(&[COMPLETED, GRANTED, FLUSHED, DELIVERED, Input::ReplyMarked])
        .then(
            Input::Record(RecordWrite::OwnedElsewhere),
            &[
                FreeThread,
                DispatchFollowUps(FollowUps::Local),
                ForwardFollowUps,
            ],
        )
        .over();
}

#[test]
fn handed_off_run_leaves_without_a_record() {
    Course::confirmed()
        .then(
            Input::HandedOff,
            &[HandOff, RedirectMailbox, ForwardFollowUps, AbortLocal],
        )
        .over();
}

/// The reply does not wait for the ledger, but the record does, and with it the thread.
#[test]
fn failed_flush_is_repeated_behind_the_reply() {
    Course::confirmed()
        .fed(&[COMPLETED, UNAVAILABLE])
        .then(NOT_FLUSHED, &[SendReceipt(Completed), Await(SendReply)])
        .fed(&[DELIVERED])
        .then(
            Input::ReplyMarked,
            &[sealed(Some(true), Completed), Await(Wait(FLUSH_BACKOFF))],
        )
        .after(FLUSH_BACKOFF)
        .then(
            Input::Elapsed,
            &[Await(Flush {
                deadline: Some(FLUSH_TIMEOUT),
            })],
        )
        .then(NOT_FLUSHED, &[Await(Wait(FLUSH_BACKOFF))])
        .after(FLUSH_BACKOFF)
        .then(
            Input::Elapsed,
            &[Await(Flush {
                deadline: Some(FLUSH_TIMEOUT),
            })],
        )
        .then(
            FLUSHED,
            &[CloseMailbox, RejectFollowUps(FollowUps::All), WRITE],
        )
        .then(
            WRITTEN,
            &[FreeThread, DispatchFollowUps(FollowUps::All), Reflect],
        )
        .over();
}

const UNKNOWN_OWNER: [Action; 3] = [
    CollectFollowUps,
    RejectFollowUps(FollowUps::Local),
    Await(WriteRecord { flush_first: true }),
];

fn unflushed() -> Course {
    Course::confirmed().fed(&[
        COMPLETED,
        GRANTED,
        NOT_FLUSHED,
        DELIVERED,
        Input::ReplyMarked,
    ])
}

#[test]
fn unread_inbox_waits_for_the_record() {
    unflushed()
        .after(FLUSH_TIMEOUT)
        .then(Input::Elapsed, &UNKNOWN_OWNER)
        .then(
            LOST,
            &[
                FreeThread,
                DispatchFollowUps(FollowUps::Local),
                Await(Wait(RECORD_BACKOFF)),
            ],
        )
        .then(
            Input::Elapsed,
            &[Await(RetryLostRecord { flush_first: true })],
        )
        .then(
            WRITTEN,
            &[
                CloseMailbox,
                RejectFollowUps(FollowUps::All),
                DispatchFollowUps(FollowUps::All),
                Reflect,
            ],
        )
        .over();
}

#[test]
fn unread_inbox_of_another_owner_is_left_alone() {
    unflushed()
        .after(FLUSH_TIMEOUT)
        .then(Input::Elapsed, &UNKNOWN_OWNER)
        .then(
            Input::Record(RecordWrite::OwnedElsewhere),
            &[
                FreeThread,
                DispatchFollowUps(FollowUps::Local),
                CloseMailbox,
                ForwardFollowUps,
            ],
        )
        .over();
}

#[test]
fn unconfirmed_claim_never_holds_the_thread_for_its_inbox() {
    Course::with_ledger(LedgerKnowledge::Unconfirmed)
        .fed(&[COMPLETED, UNAVAILABLE, NOT_FLUSHED, DELIVERED])
        .then(
            Input::ReplyMarked,
            &[
                sealed(Some(true), Completed),
                CollectFollowUps,
                RejectFollowUps(FollowUps::Local),
                Await(WriteRecord { flush_first: true }),
            ],
        );
}

#[test]
fn lost_record_is_retried_until_its_deadline() {
    Course::confirmed()
        .fed(&[COMPLETED, GRANTED, FLUSHED, DELIVERED, Input::ReplyMarked])
        .then(
            LOST,
            &[
                FreeThread,
                DispatchFollowUps(FollowUps::All),
                Await(Wait(RECORD_BACKOFF)),
            ],
        )
        .then(
            Input::Elapsed,
            &[Await(RetryLostRecord { flush_first: false })],
        )
        .then(LOST, &[Await(Wait(RECORD_BACKOFF))])
        .after(RECORD_RETRY_TIMEOUT)
        .then(
            Input::Elapsed,
            &[Await(RetryLostRecord { flush_first: false })],
        )
        .then(LOST, &[])
        .over();
}

#[test]
fn shutdown_ends_waiting_for_a_store() {
    unflushed().then(Input::ShutdownRequested, &UNKNOWN_OWNER);
    Course::confirmed()
        .fed(&[
            COMPLETED,
            GRANTED,
            FLUSHED,
            DELIVERED,
            Input::ReplyMarked,
            LOST,
        ])
        .then(Input::ShutdownRequested, &[])
        .over();
    Course::confirmed()
        .fed(&[
            COMPLETED,
            GRANTED,
            FLUSHED,
            DELIVERED,
            Input::ReplyMarked,
            Input::ShutdownRequested,
        ])
        .then(LOST, &[FreeThread, DispatchFollowUps(FollowUps::All)])
        .over();
}

/// Only this process knows about the reply, and the next process would repeat it.
#[test]
fn reply_without_permit_outlasts_a_shutdown() {
    Course::confirmed()
        .fed(&[
            COMPLETED,
            UNAVAILABLE,
            NOT_FLUSHED,
            DELIVERED,
            Input::ReplyMarked,
        ])
        .then(Input::ShutdownRequested, &[])
        .after(FLUSH_TIMEOUT)
        .then(Input::Elapsed, &UNKNOWN_OWNER)
        .then(
            LOST,
            &[
                FreeThread,
                DispatchFollowUps(FollowUps::Local),
                Await(Wait(RECORD_BACKOFF)),
            ],
        )
        .then(Input::ShutdownRequested, &[]);
}
