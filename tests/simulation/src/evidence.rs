//! A scenario's observations: every effect outside a process, in order.

use std::collections::{BTreeMap, BTreeSet};

use ars_types::StopMode;
use serde_json::Value;

use crate::{story::Story, viewer::View};

/// All observations that the guarantees are checked against.
#[derive(Debug, Default, PartialEq)]
pub struct Evidence {
    /// The scenario's story.
    pub story: Story,
    /// Whether all faults are kills.
    pub only_kills: bool,
    /// Claimed or announced runs, by id.
    pub runs: BTreeMap<String, RunSeen>,
    /// Messages delivered to requesters.
    pub delivered: Vec<Delivered>,
    /// Tool effects, by call id.
    pub effects: Vec<Effect>,
    /// Stops that were acknowledged.
    pub stops: Vec<Stopped>,
    /// Follow-ups acknowledged as passed on.
    pub passed_on: BTreeMap<String, PassedOn>,
    /// Follow-ups reported as not run.
    pub returned: Vec<String>,
    /// Follow-ups stored by the ledger, by the ids in their text, with the runs they are stored for.
    pub kept: BTreeMap<String, BTreeSet<String>>,
    /// Killed processes, with the call number.
    pub killed: BTreeMap<String, u64>,
    /// Requests with a final model answer, with the first answer's time.
    pub answered: BTreeMap<String, u64>,
    /// Periods with delayed delivery: unreachable stores, a stalled process, a changed clock.
    pub disrupted: Vec<(u64, u64)>,
    /// Run views, by run and viewer.
    pub views: BTreeMap<(String, String), View>,
    /// How many runs each flush that took effect had.
    pub flushed_runs: Vec<usize>,
    /// The scenario's duration in milliseconds.
    pub took_ms: u64,
    /// How many store requests failed for their sender.
    pub failed_requests: u64,
    /// Processes with an unanswered latest request.
    pub unanswered: BTreeSet<String>,
    /// Each process's last store response, as the last port call before it.
    pub last_answer: BTreeMap<String, u64>,
    /// When each port call starts, in scenario milliseconds.
    pub called_ms: Vec<u64>,
    /// Every port call: number, process, name.
    pub calls: Vec<(u64, String, String)>,
    /// Model calls that runs made.
    pub model_calls: Vec<ModelCall>,
    /// Records written to memory, by the run that produced them.
    pub learned: BTreeMap<String, BTreeSet<String>>,
    /// Memory at the end.
    pub memory: Vec<Value>,
    /// Live rows at the end.
    pub left_live: Vec<Value>,
}

/// Observations about a run.
#[derive(Debug, Default, PartialEq)]
pub struct RunSeen {
    /// Whether the ledger stored the run's claim.
    pub is_claimed: bool,
    /// The process that claimed it, and the last port call before the claim was stored.
    pub claimed: Option<(u64, String)>,
    /// First attempt to claim: the last port call before, and scenario milliseconds.
    pub claiming: Option<(u64, u64)>,
    /// When the claim was stored, in scenario milliseconds.
    pub claimed_ms: u64,
    /// The run's reservation in the daily budget in micro-dollars, according to the claim.
    pub hold: Option<u64>,
    /// The run's cap in micro-dollars, according to the steps.
    pub cap: Option<u64>,
    /// Reclaims, including by the run's own process, as the last port call before each.
    pub reclaimed_at: Vec<u64>,
    /// Acknowledged steps: the last port call before, and the process.
    pub steps: Vec<(u64, String)>,
    /// The processes that reclaimed it, in order.
    pub reclaimers: Vec<String>,
    /// For each reclaim, whether the stored state was enough to resume.
    pub was_resumable: Vec<bool>,
    /// Stored turns in the run's conversation.
    pub turns: u64,
    /// The processes that received the reply permit.
    pub has_permit: BTreeSet<String>,
    /// Each process's first attempt to store how the run ends, in scenario milliseconds.
    pub ending: BTreeMap<String, u64>,
    /// The processes that stored the run's end.
    pub end_stored_by: BTreeSet<String>,
    /// Acknowledged steps, by number, with their last record.
    pub stored: BTreeMap<u64, StepSeen>,
    /// Tool calls in each turn that a process tried to store, by turn number and process.
    pub asked: BTreeMap<(u64, String), Vec<String>>,
    /// Last event that each process sent to the ledger, answered or not.
    pub flushed: BTreeMap<String, u64>,
    /// The run's message according to the claim. The last if there are several.
    pub request: Option<String>,
    /// Acknowledged events, by seq.
    pub acknowledged: BTreeMap<u64, Value>,
    /// Stored final records, without repetitions.
    pub finals: Vec<Value>,
    /// The call that stored the final record, and the process.
    pub finished: Option<(u64, String)>,
    /// The record at the end.
    pub record: Option<Value>,
}

/// A step that was acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepSeen {
    /// The process that stored it.
    pub process: String,
    /// Last event before the step's calls.
    pub seq: u64,
    /// How many turns the conversation has.
    pub turns: u64,
    /// The step's tool calls.
    pub calls: Vec<String>,
}

/// A message to a requester.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivered {
    /// The message that it answers.
    pub to: String,
    /// The message's run, if any.
    pub run: Option<String>,
    /// Text of the message.
    pub text: String,
    /// The process that sent it.
    pub through: String,
    /// Number of the port call.
    pub number: u64,
    /// Whether the process had no reply permit and could not reach a store. See
    /// docs/reference/runs.md#end-of-a-run.
    pub is_without_permit: bool,
    /// The process's last store response, as the last port call before it.
    pub last_answer: u64,
}

impl Delivered {
    /// Sent without a permit by a process that was killed later. No other process can know about
    /// it, so it may be repeated.
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

/// A run's model call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelCall {
    /// Messages that start the conversation.
    pub about: Vec<String>,
    /// Process that made the call.
    pub process: String,
    /// Number of the port call.
    pub number: u64,
    /// Model that was called.
    pub model: String,
    /// System prompt in the call.
    pub system: String,
    /// Whether the conversation has the unchanged request.
    pub has_request: bool,
    /// Reported costs in micro-dollars, with the last port call before each.
    pub reported: Vec<(u64, u64)>,
}

/// A tool's effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    /// The tool call's id.
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

/// A stop that was acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stopped {
    /// The stopped run's id.
    pub run: String,
    /// How the run stops.
    pub mode: StopMode,
    /// The process that acknowledged it.
    pub through: String,
    /// The run's owner at that time, or `None` if the run was not live.
    pub owner: Option<String>,
    /// Whether the ledger had stored the stop.
    pub is_stored: bool,
    /// Whether the model had given the final answer, so that the stop came too late.
    pub is_late: bool,
    /// The last port call before.
    pub number: u64,
    /// When it happened, in scenario milliseconds.
    pub at_ms: u64,
}

impl Evidence {
    /// Returns the run with this id.
    pub(crate) fn run(&mut self, id: &str) -> &mut RunSeen {
        self.runs.entry(id.to_owned()).or_default()
    }

    /// Returns the latest calls, for reporting a violation.
    pub fn tail(&self) -> String {
        let lines = self
            .calls
            .iter()
            .map(|(number, process, name)| format!("{number} {process} {name}"));
        lines.collect::<Vec<_>>().join("\n")
    }
}
