//! Models the ledger, the store, the channel, the mailbox and other processes at a run's end.
//!
//! Each method on [`World`] yields every outcome that the real counterpart can have, including
//! effects with a lost answer. Not here: which outcomes are promises (`every_order`).

use std::time::Duration;

use ars_agent::run_end::{
    Action, FinalFlush, FollowUps, Input, LedgerKnowledge, Operation, RecordWrite, ReplyPermit,
    RunEnd,
};
use ars_types::RunStatus;

/// A moment behind every deadline that was set before it.
const AGE: Duration = Duration::from_secs(10_000);

/// The run's row in the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Row {
    /// The claim never reached the ledger.
    Missing,
    Ours,
    Theirs,
    /// A final record replaced it.
    Finished {
        ours: bool,
    },
}

/// How a follow-up arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Way {
    /// Through this process and into the ledger's inbox.
    Numbered,
    /// Through this process alone, because the ledger did not answer.
    Unnumbered,
    /// Through another process, into the ledger's inbox.
    Elsewhere,
}

pub const WAYS: [Way; 3] = [Way::Numbered, Way::Unnumbered, Way::Elsewhere];

/// Where a follow-up is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// Not sent, or refused to the sender.
    Outside,
    /// In the ledger's inbox alone.
    Inbox,
    Mailbox,
    /// Taken out of the mailbox and not yet read.
    Unread,
    /// Run here as a turn, or rejected.
    Settled,
    /// Left to the run's owner.
    WithOwner,
    /// Removed with the row although it was in neither process.
    Vanished,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FollowUp {
    pub way: Way,
    pub place: Place,
    pub is_in_inbox: bool,
    /// Turns that it became, in any process.
    pub turns: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mailbox {
    Open,
    Closed,
    Redirected,
}

/// The attempts to write the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Attempts {
    None,
    /// Every answer so far was lost; the first at this age.
    Lost {
        since: u8,
    },
    /// An attempt was answered.
    Answered {
        was_lost: bool,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct World {
    pub end: RunEnd,
    /// The operation that the machine waits for.
    pub pending: Option<Operation>,
    pub has_exited: bool,
    pub ledger: LedgerKnowledge,
    pub status: RunStatus,
    pub has_answer: bool,
    pub row: Row,
    pub is_finishing: bool,
    pub mailbox: Mailbox,
    pub follow_ups: [FollowUp; 3],
    pub age: u8,
    pub has_permit: bool,
    pub knows_fence: bool,
    pub is_shutting_down: bool,
    pub is_finished: bool,
    pub has_receipt: bool,
    pub replies: u8,
    pub is_sealed: bool,
    pub has_thread: bool,
    pub is_aborted: bool,
    /// A record was written here, whether or not the answer arrived.
    pub records: u8,
    pub attempts: Attempts,
    /// Promises that this world broke.
    pub broken: Vec<&'static str>,
}

/// A record write's effect, and the answer to it.
type Write = (bool, RecordWrite);

impl World {
    pub fn new(ledger: LedgerKnowledge, row: Row, status: RunStatus, has_answer: bool) -> Self {
        let follow_up = |way| FollowUp {
            way,
            place: Place::Outside,
            is_in_inbox: false,
            turns: 0,
        };
        Self {
            end: RunEnd::new(ledger),
            pending: None,
            has_exited: false,
            ledger,
            status,
            has_answer,
            row,
            is_finishing: false,
            mailbox: Mailbox::Open,
            follow_ups: WAYS.map(follow_up),
            age: 0,
            has_permit: false,
            knows_fence: false,
            is_shutting_down: false,
            is_finished: false,
            has_receipt: false,
            replies: 0,
            is_sealed: false,
            has_thread: true,
            is_aborted: false,
            records: 0,
            attempts: Attempts::None,
            broken: Vec::new(),
        }
    }

    /// Feeds an input and performs the actions up to the operation that is answered later.
    pub fn feed(mut self, input: Input) -> Self {
        let mut repeated = self.end.clone();
        let now = AGE * u32::from(self.age);
        let actions = self.end.step(input, now);
        repeated.step(input, now);
        let after = repeated.clone();
        let again = repeated.step(input, now);
        self.promise(
            again.is_empty() && repeated == after,
            "a repeated input has no effect",
        );
        if actions.is_empty() && !self.is_answer(input) {
            return self;
        }
        let is_requested = matches!(self.pending, Some(Operation::AcquireReplyPermit(_)));
        self.promise(
            self.is_answer(input) || !is_requested,
            "the answer to a requested permit is awaited",
        );
        self.pending = None;
        let last = actions.len().saturating_sub(1);
        for (index, action) in actions.into_iter().enumerate() {
            if let Action::Await(operation) = action {
                self.promise(index == last, "an operation is the last action");
                self.pending = Some(operation);
                self.start(operation);
            } else {
                self.perform(action);
            }
        }
        self
    }

    fn is_answer(&self, input: Input) -> bool {
        !matches!(input, Input::FencedOut | Input::ShutdownRequested)
    }

    pub fn promise(&mut self, is_kept: bool, promise: &'static str) {
        if !is_kept && !self.broken.contains(&promise) {
            self.broken.push(promise);
        }
    }

    fn start(&mut self, operation: Operation) {
        match operation {
            Operation::SendReply => {
                self.promise(self.replies == 0, "a run replies at most once");
                self.promise(
                    self.has_permit || !self.knows_fence,
                    "a run known to be fenced replies only with a permit",
                );
                self.promise(self.has_receipt, "the receipt precedes the reply");
                self.replies += 1;
            }
            Operation::WriteRecord { .. } | Operation::RetryLostRecord { .. } => {
                self.promise(self.is_sealed, "the record is written behind the seal");
                self.promise(!self.is_aborted, "an aborted run writes no record");
            }
            _ => {}
        }
    }

    fn perform(&mut self, action: Action) {
        match action {
            Action::PublishAnswer => {
                self.promise(
                    self.has_answer && !self.is_finished,
                    "the answer precedes the finish",
                );
            }
            Action::Finish(_) => {
                self.promise(
                    self.has_permit || !self.knows_fence,
                    "a run known to be fenced finishes only with a permit",
                );
                self.promise(!self.is_finished, "a run finishes once");
                self.is_finished = true;
            }
            Action::SendReceipt(_) => {
                self.promise(
                    self.is_finished && !self.has_receipt,
                    "the receipt follows the finish, once",
                );
                self.has_receipt = true;
            }
            Action::Seal { .. } => {
                self.promise(
                    !self.is_sealed && self.has_receipt,
                    "a run is sealed once, behind its receipt",
                );
                self.promise(
                    u8::from(self.has_answer) == self.replies,
                    "a run is sealed behind its reply",
                );
                self.is_sealed = true;
            }
            Action::CloseMailbox => self.close(Mailbox::Closed),
            Action::RedirectMailbox => self.close(Mailbox::Redirected),
            Action::CollectFollowUps => self.move_all(Place::Mailbox, Place::Unread),
            Action::RejectFollowUps(scope) => {
                if matches!(self.status, RunStatus::StoppedSoft | RunStatus::StoppedHard) {
                    self.settle(scope, 0);
                }
            }
            Action::DispatchFollowUps(scope) => self.settle(scope, 1),
            Action::ForwardFollowUps => self.move_all(Place::Unread, Place::WithOwner),
            Action::FreeThread => {
                self.promise(self.has_thread, "the thread is released once");
                self.has_thread = false;
            }
            Action::AbortLocal => {
                self.promise(!self.is_sealed, "a sealed run is not aborted");
                self.is_aborted = true;
            }
            _ => {}
        }
    }

    fn close(&mut self, mailbox: Mailbox) {
        self.promise(self.mailbox == Mailbox::Open, "the mailbox is closed once");
        self.mailbox = mailbox;
        self.move_all(Place::Mailbox, Place::Unread);
    }

    fn move_all(&mut self, from: Place, to: Place) {
        for follow_up in &mut self.follow_ups {
            if follow_up.place == from {
                follow_up.place = to;
            }
        }
    }

    fn settle(&mut self, scope: FollowUps, turns: u8) {
        for follow_up in &mut self.follow_ups {
            let is_in_scope = scope == FollowUps::All || !follow_up.is_in_inbox;
            if follow_up.place == Place::Unread && is_in_scope {
                follow_up.place = Place::Settled;
                follow_up.turns += turns;
            }
        }
    }

    /// Every way in which the loop can end the run.
    fn exits(&self) -> Vec<Self> {
        let exited = Self {
            has_exited: true,
            ..self.clone()
        };
        let ended = Input::Ended {
            status: self.status,
            has_answer: self.has_answer,
        };
        let mut worlds = vec![exited.clone().feed(ended)];
        if self.ledger == LedgerKnowledge::Confirmed {
            worlds.push(exited.feed(Input::HandedOff));
        }
        worlds
    }

    /// Returns every answer that the pending operation can have, with the effects.
    pub fn answered(&self) -> Vec<Self> {
        let Some(pending) = self.pending else {
            return if self.has_exited {
                Vec::new()
            } else {
                self.exits()
            };
        };
        match pending {
            Operation::AcquireReplyPermit(_) => self.permits(),
            Operation::Flush { .. } => self.flushes(),
            Operation::SendReply => [true, false]
                .map(|delivered| self.clone().feed(Input::Replied { delivered }))
                .to_vec(),
            Operation::MarkReplied(_) => vec![self.clone().feed(Input::ReplyMarked)],
            Operation::WriteRecord { flush_first } | Operation::RetryLostRecord { flush_first } => {
                self.writes(flush_first)
            }
            Operation::Wait(_) => vec![self.clone().feed(Input::Elapsed)],
        }
    }

    fn permits(&self) -> Vec<Self> {
        let answered = |world: &Self, permit| world.clone().feed(Input::Permit(permit));
        let mut worlds = vec![answered(self, ReplyPermit::Unavailable)];
        if self.row == Row::Ours || self.is_finishing {
            let finishing = Self {
                is_finishing: true,
                ..self.clone()
            };
            let permitted = Self {
                has_permit: true,
                ..finishing.clone()
            };
            worlds.push(answered(&permitted, ReplyPermit::Granted));
            // The answer was lost, and a second request was refused or not answered either.
            worlds.push(answered(&finishing, ReplyPermit::Denied));
            worlds.push(answered(&finishing, ReplyPermit::Unavailable));
        } else if self.row != Row::Missing {
            worlds.push(answered(self, ReplyPermit::Denied));
        }
        worlds
    }

    fn flushes(&self) -> Vec<Self> {
        let failed = self.clone().feed(Input::Flushed(FinalFlush::Failed));
        let mut flushed = self.clone();
        match self.row {
            _ if self.ledger == LedgerKnowledge::Absent => {
                return vec![flushed.feed(Input::Flushed(FinalFlush::Done))];
            }
            Row::Ours => flushed.read_inbox(),
            // The caller learns about the fence from the same answer.
            Row::Theirs | Row::Finished { .. } => flushed = flushed.fenced(),
            Row::Missing => {}
        }
        if flushed.pending == self.pending {
            flushed = flushed.feed(Input::Flushed(FinalFlush::Done));
        }
        vec![failed, flushed]
    }

    /// The ledger reports the fence.
    pub fn fenced(&self) -> Self {
        Self {
            knows_fence: true,
            ..self.clone()
        }
        .feed(Input::FencedOut)
    }

    fn read_inbox(&mut self) {
        if self.mailbox == Mailbox::Open {
            self.move_all(Place::Inbox, Place::Mailbox);
        }
    }

    fn writes(&self, flush_first: bool) -> Vec<Self> {
        let outcomes: &[Write] = match self.row {
            Row::Ours | Row::Missing => &[
                (true, RecordWrite::Written),
                (true, RecordWrite::Lost),
                (false, RecordWrite::Lost),
            ],
            Row::Finished { ours: true } => {
                &[(false, RecordWrite::Written), (false, RecordWrite::Lost)]
            }
            Row::Theirs | Row::Finished { ours: false } => &[
                (false, RecordWrite::OwnedElsewhere),
                (false, RecordWrite::Lost),
            ],
        };
        outcomes
            .iter()
            .map(|outcome| self.wrote(*outcome, flush_first))
            .collect()
    }

    fn wrote(&self, (is_written, answer): Write, flush_first: bool) -> Self {
        let mut world = self.clone();
        if is_written {
            if flush_first && world.row == Row::Ours {
                world.read_inbox();
            }
            world.row = Row::Finished { ours: true };
            world.records += 1;
            world.move_all(Place::Inbox, Place::Vanished);
        }
        world.attempts = match (world.attempts, answer) {
            (Attempts::None, RecordWrite::Lost) => Attempts::Lost { since: world.age },
            (attempts, RecordWrite::Lost) => attempts,
            (attempts, _) => Attempts::Answered {
                was_lost: attempts != Attempts::None,
            },
        };
        world.feed(Input::Record(answer))
    }

    pub fn was_record_lost(&self) -> bool {
        matches!(
            self.attempts,
            Attempts::Lost { .. } | Attempts::Answered { was_lost: true }
        )
    }

    /// Whether a lost record may be given up. A reply without a permit outlasts a shutdown.
    pub fn is_patience_over(&self) -> bool {
        let may_shut_down =
            self.has_permit || self.replies == 0 || self.ledger != LedgerKnowledge::Confirmed;
        let is_late = matches!(self.attempts, Attempts::Lost { since } if self.age > since);
        self.ledger == LedgerKnowledge::Absent || is_late || self.is_shutting_down && may_shut_down
    }

    /// Every event that can happen during the pending operation.
    pub fn disturbed(&self) -> Vec<Self> {
        let mut worlds = Vec::new();
        if self.row == Row::Ours && self.ledger != LedgerKnowledge::Absent {
            worlds.push(Self {
                row: Row::Theirs,
                ..self.clone()
            });
        }
        // The grant precedes the answer, so a fence can come between them.
        let is_requested = matches!(self.pending, Some(Operation::AcquireReplyPermit(_)));
        if is_requested && self.row == Row::Ours && !self.is_finishing {
            worlds.push(Self {
                is_finishing: true,
                ..self.clone()
            });
        }
        if self.row == Row::Theirs {
            let mut over = Self {
                row: Row::Finished { ours: false },
                ..self.clone()
            };
            over.owner_ends();
            worlds.push(over);
        }
        if matches!(self.row, Row::Theirs | Row::Finished { ours: false }) && !self.knows_fence {
            worlds.push(self.fenced());
        }
        if !self.is_shutting_down {
            worlds.push(
                Self {
                    is_shutting_down: true,
                    ..self.clone()
                }
                .feed(Input::ShutdownRequested),
            );
        }
        if self.age < 2 {
            worlds.push(Self {
                age: self.age + 1,
                ..self.clone()
            });
        }
        worlds.extend(WAYS.into_iter().filter_map(|way| self.sent(way)));
        worlds
    }

    /// Delivers a follow-up. Between draining the inbox and recording a run without a permit, the
    /// ledger still accepts a follow-up that no process reads. That window is known and not
    /// modelled.
    fn sent(&self, way: Way) -> Option<Self> {
        let mut world = self.clone();
        let is_taken = self.row == Row::Ours && !self.is_finishing;
        let index = WAYS.iter().position(|other| *other == way)?;
        let follow_up = &mut world.follow_ups[index];
        if follow_up.place != Place::Outside || self.mailbox != Mailbox::Open {
            return None;
        }
        (follow_up.place, follow_up.is_in_inbox) = match way {
            Way::Numbered if is_taken => (Place::Mailbox, true),
            Way::Unnumbered => (Place::Mailbox, false),
            Way::Elsewhere if is_taken => (Place::Inbox, true),
            Way::Numbered | Way::Elsewhere => return None,
        };
        Some(world)
    }

    /// The other process ends the run and runs the inbox.
    pub fn owner_ends(&mut self) {
        for follow_up in self
            .follow_ups
            .iter_mut()
            .filter(|follow_up| follow_up.is_in_inbox)
        {
            follow_up.turns += u8::from(!matches!(
                self.status,
                RunStatus::StoppedSoft | RunStatus::StoppedHard
            ));
            if matches!(follow_up.place, Place::Inbox) {
                follow_up.place = Place::Settled;
            }
        }
    }
}
