//! The observations of a scenario: every effect outside a process, in order.

use std::collections::{BTreeMap, BTreeSet};

use ars_types::StopMode;
use serde_json::Value;

use crate::{story::Story, viewer::View};

/// All observations that the guarantees are checked against.
#[derive(Debug, Default, PartialEq)]
pub struct Evidence {
    /// Story of the scenario.
    pub story: Story,
    /// Whether all faults are kills.
    pub only_kills: bool,
    /// Claimed or announced runs, by id.
    pub runs: BTreeMap<String, RunSeen>,
    /// Messages delivered to requesters.
    pub delivered: Vec<Delivered>,
    /// Effects of tools, by call id.
    pub effects: Vec<Effect>,
    /// Acknowledged stops.
    pub stops: Vec<Stopped>,
    /// Follow-ups acknowledged as passed on.
    pub passed_on: BTreeMap<String, PassedOn>,
    /// Follow-ups reported as not run.
    pub returned: Vec<String>,
    /// Follow-ups stored by the ledger, by the ids in their text, with the runs they are stored for.
    pub kept: BTreeMap<String, BTreeSet<String>>,
    /// Killed processes, with the number of the call.
    pub killed: BTreeMap<String, u64>,
    /// Requests with a final model answer, with the time of the first.
    pub answered: BTreeMap<String, u64>,
    /// Periods with delayed delivery: unreachable stores, a stalled process, a changed clock.
    pub disrupted: Vec<(u64, u64)>,
    /// Views of runs, by run and viewer.
    pub views: BTreeMap<(String, String), View>,
    /// Number of runs in each flush that took effect.
    pub flushed_runs: Vec<usize>,
    /// Duration of the scenario in milliseconds.
    pub took_ms: u64,
    /// Number of store requests that failed for their sender.
    pub failed_requests: u64,
    /// Processes with an unanswered latest request.
    pub unanswered: BTreeSet<String>,
    /// Last store answer of each process, as the last port call before it.
    pub last_answer: BTreeMap<String, u64>,
    /// Start of each port call, in milliseconds of the scenario.
    pub called_ms: Vec<u64>,
    /// Every port call: number, process, name.
    pub calls: Vec<(u64, String, String)>,
    /// Model calls of runs.
    pub model_calls: Vec<ModelCall>,
    /// Records written to memory, by the run that produced them.
    pub learned: BTreeMap<String, BTreeSet<String>>,
    /// Memory at the end.
    pub memory: Vec<Value>,
    /// Live rows at the end.
    pub left_live: Vec<Value>,
}

/// Observations of one run.
#[derive(Debug, Default, PartialEq)]
pub struct RunSeen {
    /// Whether the ledger stored its claim.
    pub is_claimed: bool,
    /// The process that claimed it, and the last port call before the claim was stored.
    pub claimed: Option<(u64, String)>,
    /// First attempt of the claim: the last port call before, and milliseconds of the scenario.
    pub claiming: Option<(u64, u64)>,
    /// Time of the stored claim, in milliseconds of the scenario.
    pub claimed_ms: u64,
    /// Its reservation of the daily budget in micro-dollars, according to its claim.
    pub hold: Option<u64>,
    /// Its cap in micro-dollars, according to its steps.
    pub cap: Option<u64>,
    /// Reclaims, including those by its own process, as the last port call before each.
    pub reclaimed_at: Vec<u64>,
    /// Acknowledged steps: the last port call before, and the process.
    pub steps: Vec<(u64, String)>,
    /// The processes that reclaimed it, in order.
    pub reclaimers: Vec<String>,
    /// For each reclaim, whether the stored state was enough to resume.
    pub was_resumable: Vec<bool>,
    /// Stored turns of its conversation.
    pub turns: u64,
    /// The processes that received the reply permit.
    pub has_permit: BTreeSet<String>,
    /// First attempt of each process to store how the run ends, in milliseconds of the scenario.
    pub ending: BTreeMap<String, u64>,
    /// The processes with a stored end of the run.
    pub end_stored_by: BTreeSet<String>,
    /// Acknowledged steps, by number, with their last record.
    pub stored: BTreeMap<u64, StepSeen>,
    /// Tool calls of each turn that a process tried to store, by turn number and process.
    pub asked: BTreeMap<(u64, String), Vec<String>>,
    /// Last event that each process sent to the ledger, answered or not.
    pub flushed: BTreeMap<String, u64>,
    /// Its message according to its claim. The last one of several.
    pub request: Option<String>,
    /// Acknowledged events, by seq.
    pub acknowledged: BTreeMap<u64, Value>,
    /// Stored final records, without repetitions.
    pub finals: Vec<Value>,
    /// The call that stored the final record, and its process.
    pub finished: Option<(u64, String)>,
    /// The record at the end.
    pub record: Option<Value>,
}

/// An acknowledged step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepSeen {
    /// The process that stored it.
    pub process: String,
    /// Last event before its calls.
    pub seq: u64,
    /// Number of turns of the conversation.
    pub turns: u64,
    /// Its tool calls.
    pub calls: Vec<String>,
}

/// One message to a requester.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivered {
    /// The message that it answers.
    pub to: String,
    /// Its run, if any.
    pub run: Option<String>,
    /// Text.
    pub text: String,
    /// The process that sent it.
    pub through: String,
    /// Number of the port call.
    pub number: u64,
    /// Whether the process had no reply permit and could not reach a store
    /// (docs/reference/runs.md#end-of-a-run).
    pub is_without_permit: bool,
    /// Last store answer of the process, as the last port call before it.
    pub last_answer: u64,
}

impl Delivered {
    /// Sent without a permit by a process that was killed later.
    /// No other process can know of it, so it may be repeated.
    pub(crate) fn is_unknown_to_others(&self, evidence: &Evidence) -> bool {
        self.is_without_permit
            && evidence
                .killed
                .get(&self.through)
                .is_some_and(|at| *at >= self.number)
    }
}

impl Delivered {
    /// Sent without a permit by a process that lost the run without knowing: no store had answered since.
    /// It may reply, and cannot report the reply, because the ledger rejects its writes.
    pub(crate) fn was_sent_while_cut_off(&self, evidence: &Evidence) -> bool {
        let run = self.run.as_ref().and_then(|run| evidence.runs.get(run));
        let mut takes = run
            .into_iter()
            .flat_map(|run| run.reclaimers.iter().zip(&run.reclaimed_at));
        let is_taken = takes.any(|(taker, at)| {
            *taker != self.through && self.last_answer <= *at && *at < self.number
        });
        self.is_without_permit && is_taken
    }
}

/// A follow-up acknowledged as passed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassedOn {
    /// The run that it was passed on to, according to the acknowledgement.
    pub run: Option<String>,
    /// The process that acknowledged it.
    pub through: String,
    /// Number of the port call.
    pub number: u64,
}

/// One model call of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelCall {
    /// The messages at the start of the conversation.
    pub about: Vec<String>,
    /// The calling process.
    pub process: String,
    /// Number of the port call.
    pub number: u64,
    /// Model.
    pub model: String,
    /// System prompt.
    pub system: String,
    /// Whether the conversation has its unchanged request.
    pub has_request: bool,
    /// Reported costs in micro-dollars, with the last port call before each.
    pub reported: Vec<(u64, u64)>,
}

/// One effect of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    /// Id of the tool call.
    pub call: String,
    /// The process that ran it.
    pub process: String,
    /// Number of the port call.
    pub number: u64,
}

impl Effect {
    /// Returns whether it may belong to this message.
    /// Call ids contain the message where a story has several.
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
    /// Mode.
    pub mode: StopMode,
    /// The process that acknowledged it.
    pub through: String,
    /// The run's owner at that time, or `None` if the run was not live.
    pub owner: Option<String>,
    /// Whether the ledger had stored the stop.
    pub is_stored: bool,
    /// Whether the model had given its final answer, so that the stop came too late.
    pub is_late: bool,
    /// The last port call before.
    pub number: u64,
    /// Time, in milliseconds of the scenario.
    pub at_ms: u64,
}

impl Evidence {
    /// Returns the run of this id.
    pub(crate) fn run(&mut self, id: &str) -> &mut RunSeen {
        self.runs.entry(id.to_owned()).or_default()
    }

    /// Returns the latest calls, for the report of a violation.
    pub fn tail(&self) -> String {
        let lines = self
            .calls
            .iter()
            .map(|(number, process, name)| format!("{number} {process} {name}"));
        lines.collect::<Vec<_>>().join("\n")
    }
}
