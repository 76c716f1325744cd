//! What the world saw: every effect that left a process, in the order in which it took place.

use std::collections::{BTreeMap, BTreeSet};

use ars_types::StopMode;
use serde_json::Value;

use crate::{story::Story, viewer::View};

/// Everything that can be held against a promise.
#[derive(Debug, Default, PartialEq)]
pub struct Evidence {
    /// What was played.
    pub story: Story,
    /// Nothing went wrong but deaths.
    pub only_kills: bool,
    /// Runs that were claimed or announced, by id.
    pub runs: BTreeMap<String, RunSeen>,
    /// What reached requesters.
    pub said: Vec<Said>,
    /// What tools did, by the id of their call.
    pub effects: Vec<Effect>,
    /// Stops that were acknowledged.
    pub stops: Vec<Stopped>,
    /// Follow-ups whose senders were told that they were passed on.
    pub passed_on: BTreeMap<String, PassedOn>,
    /// Follow-ups whose senders were told that they were not run.
    pub handed_back: Vec<String>,
    /// Follow-ups that the ledger has, by the ids in their text, and the runs it has them for.
    pub kept: BTreeMap<String, BTreeSet<String>>,
    /// Processes that died, and at which call.
    pub killed: BTreeMap<String, u64>,
    /// Requests whose final answer the model has given, and when first.
    pub answered: BTreeMap<String, u64>,
    /// Stretches in which news may take longer: a store that cannot be reached, a process that stands still, a clock set.
    pub hindered: Vec<(u64, u64)>,
    /// What viewers saw, by run and viewer.
    pub views: BTreeMap<(String, String), View>,
    /// Runs in each flush that took effect.
    pub flushed_runs: Vec<usize>,
    /// How long the scenario took, in milliseconds.
    pub took_ms: u64,
    /// Requests to the stores that failed for their sender.
    pub failed_requests: u64,
    /// Processes whose latest request no store answered.
    pub unanswered: BTreeSet<String>,
    /// When each process last heard from a store: the last call of a port before.
    pub heard: BTreeMap<String, u64>,
    /// When each call of a port began, in milliseconds of the scenario.
    pub called_ms: Vec<u64>,
    /// Every call of a port: number, process, name.
    pub calls: Vec<(u64, String, String)>,
    /// Calls of the model that runs made.
    pub thoughts: Vec<Thought>,
    /// What was written to memory, by the run it was learned in.
    pub learned: BTreeMap<String, BTreeSet<String>>,
    /// What is remembered at the end.
    pub memory: Vec<Value>,
    /// Rows that are live at the end.
    pub left_live: Vec<Value>,
}

/// What was seen of one run.
#[derive(Debug, Default, PartialEq)]
pub struct RunSeen {
    /// The ledger has taken it.
    pub is_claimed: bool,
    /// The process that claimed it, and the last call of a port before the ledger knew.
    pub claimed: Option<(u64, String)>,
    /// When its process first sent its claim: the last call of a port by then, and milliseconds of the scenario.
    pub claiming: Option<(u64, u64)>,
    /// When the ledger had it, in milliseconds of the scenario.
    pub claimed_ms: u64,
    /// What it holds of the day, in micro-dollars, as its claim says.
    pub hold: Option<u64>,
    /// What it may cost, in micro-dollars, as its steps say.
    pub cap: Option<u64>,
    /// When it was taken over, also by the process that had it: the last call of a port before.
    pub taken_over: Vec<u64>,
    /// Steps that the ledger acknowledged: the last call of a port before, and the process.
    pub steps: Vec<(u64, String)>,
    /// The processes that took it over, in order.
    pub takers: Vec<String>,
    /// Of each takeover: what was stored then was enough to go on with.
    pub was_resumable: Vec<bool>,
    /// Turns of its conversation that are stored.
    pub turns: u64,
    /// The processes that were told that they may reply.
    pub has_leave: BTreeSet<String>,
    /// When each process first said how the run ends, heard or not, in milliseconds of the scenario.
    pub ending: BTreeMap<String, u64>,
    /// The processes that the ledger has heard say so.
    pub end_heard_of: BTreeSet<String>,
    /// Steps that the ledger acknowledged, by their number: of each, the last record.
    pub stored: BTreeMap<u64, StepSeen>,
    /// The calls of each turn that a process wanted to store, by its place in the conversation and the process.
    pub asked: BTreeMap<(u64, String), Vec<String>>,
    /// The last event that each process brought to the ledger, answered or not.
    pub flushed: BTreeMap<String, u64>,
    /// The message it serves, as its claim says: of several, the last.
    pub request: Option<String>,
    /// Events that the ledger acknowledged, by seq.
    pub acknowledged: BTreeMap<u64, Value>,
    /// Final records that a store took, without repetitions.
    pub finals: Vec<Value>,
    /// The call at which the ledger took the final record, and the process that brought it.
    pub finished: Option<(u64, String)>,
    /// The record at the end.
    pub record: Option<Value>,
}

/// A step that the ledger acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepSeen {
    /// The process that stored it.
    pub process: String,
    /// The last event before its calls.
    pub seq: u64,
    /// Turns of the conversation.
    pub turns: u64,
    /// Its calls.
    pub calls: Vec<String>,
}

/// One message to a requester.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// The message whose sender it reached.
    pub to: String,
    /// The run it came from, if there was one.
    pub run: Option<String>,
    /// What was said.
    pub text: String,
    /// The process that said it.
    pub through: String,
    /// The number of the port's call.
    pub number: u64,
    /// No store told the process that it may, and none answered it any more: it was said without the ledger's leave
    /// (state-worker supplement section 11, "finishing gate").
    pub is_without_leave: bool,
    /// When the process had last heard from a store: the last call of a port before.
    pub heard: u64,
}

impl Said {
    /// Said without leave by a process that died afterwards: nobody else can know of it, and it may be said again.
    pub(crate) fn is_lost_sight_of(&self, evidence: &Evidence) -> bool {
        self.is_without_leave && evidence.killed.get(&self.through).is_some_and(|at| *at >= self.number)
    }
}

impl Said {
    /// Said without leave by a process that the run was taken from by another, which it could not be told, as no store
    /// answered it since ("finishing gate" again: it replies as usual). Nor can it tell the other one: the ledger takes
    /// nothing more of the run from it.
    pub(crate) fn was_said_unheard(&self, evidence: &Evidence) -> bool {
        let run = self.run.as_ref().and_then(|run| evidence.runs.get(run));
        let mut takes = run.into_iter().flat_map(|run| run.takers.iter().zip(&run.taken_over));
        let is_taken =
            takes.any(|(taker, at)| *taker != self.through && self.heard <= *at && *at < self.number);
        self.is_without_leave && is_taken
    }
}

/// A follow-up whose sender was told that it was passed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassedOn {
    /// The run it was passed on to, as its sender was told.
    pub run: Option<String>,
    /// The process that said so.
    pub through: String,
    /// The number of the port's call.
    pub number: u64,
}

/// One call of the model by a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thought {
    /// The messages that the conversation begins with.
    pub about: Vec<String>,
    /// The process that asked.
    pub process: String,
    /// The number of the port's call.
    pub number: u64,
    /// The model.
    pub model: String,
    /// The system prompt.
    pub system: String,
    /// The conversation holds its request as it was made.
    pub has_request: bool,
    /// What the process was told that it used, in micro-dollars, and the last call of a port before.
    pub told: Vec<(u64, u64)>,
}

/// One thing a tool did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    /// The model's id of the call.
    pub call: String,
    /// The process that did it.
    pub process: String,
    /// The number of the port's call.
    pub number: u64,
}

impl Effect {
    /// Whether it may be this message's: a call is named after its message where a story has several.
    pub(crate) fn may_serve(&self, message: Option<&str>) -> bool {
        let named = self.call.split_once('t').map_or("", |(message, _)| message);
        named.is_empty() || message.is_none_or(|message| message == named)
    }
}

/// An acknowledged stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stopped {
    /// The run.
    pub run: String,
    /// How.
    pub mode: StopMode,
    /// The process that acknowledged it.
    pub through: String,
    /// The generation that owned the run then; nothing when the ledger had no such run any more.
    pub owner: Option<String>,
    /// The ledger had the stop then.
    pub is_stored: bool,
    /// The model had given its final answer by then: the stop came too late to change the run.
    pub is_late: bool,
    /// The last call of a port before.
    pub number: u64,
    /// When, in milliseconds of the scenario.
    pub at_ms: u64,
}

impl Evidence {
    /// The run of this id.
    pub(crate) fn run(&mut self, id: &str) -> &mut RunSeen {
        self.runs.entry(id.to_owned()).or_default()
    }

    /// The latest calls, for whoever reads of a violation.
    pub fn tail(&self) -> String {
        let lines = self.calls.iter().map(|(number, process, name)| format!("{number} {process} {name}"));
        lines.collect::<Vec<_>>().join("\n")
    }
}
