//! A loop without the conversation: the step record part that a resume needs besides the turns.

use ars_wire::ledger::StepRecord;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{closing::Closing, steering::Steered};
use crate::{
    budget::Budget,
    context::{ContextLimit, Measure, Shape},
    message::Usage,
    money::{MoneyCap, Price},
};

/// Name of the field in a step record.
const FIELD: &str = "loop";

/// A run's limits besides the budget. By default, there are none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// The model's context window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<ContextLimit>,
    /// The model's price; absent when unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// The run's cost cap. With it, a model without a price is not called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cap: Option<MoneyCap>,
}

/// A loop without conversation, clock and durable inbox: small, and stored with each step record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Saved {
    pub(super) budget: Budget,
    #[serde(default)]
    pub(super) limits: Limits,
    #[serde(default)]
    pub(super) infra: Infra,
    #[serde(default)]
    pub(super) warned: bool,
    #[serde(default)]
    pub(super) soft_stop: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) closing: Option<Closing>,
    pub(super) usage: Usage,
    #[serde(default)]
    pub(super) spent: Spent,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) measure: Option<Measure>,
    /// Model calls before the next summary attempt.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) summary_not_before: u32,
    pub(super) shape: Shape,
    /// Messages outside the durable inbox. The ledger offers the others again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) steered: Vec<Steered>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands a reference over"
)]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Counts consecutive infrastructure failures.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Infra {
    pub(super) streak: u32,
    pub(super) last_error: String,
}

/// Tracks the money spent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Spent {
    pub(super) microusd: u64,
    /// A call had no known price.
    pub(super) is_partial: bool,
}

impl Saved {
    /// Reads the loop from a step record; `None` if the record's version has no loop.
    pub fn from_record(record: &StepRecord) -> Option<Self> {
        Self::deserialize(record.extra.get(FIELD)?).ok()
    }

    /// Returns the cost in micro-dollars; `None` if a call had no known price.
    pub fn cost(&self) -> Option<u64> {
        let spent = self.spent;
        let is_known = !spent.is_partial && (spent.microusd > 0 || self.limits.price.is_some());
        is_known.then_some(spent.microusd)
    }

    /// The run's cost cap.
    pub fn cap(&self) -> Option<MoneyCap> {
        self.limits.cap
    }

    /// Writes it into a step record's extra fields.
    pub fn store(&self, extra: &mut Map<String, Value>) {
        // Only a map with keys other than strings could fail, and there is none.
        if let Ok(value) = serde_json::to_value(self) {
            extra.insert(FIELD.to_owned(), value);
        }
    }
}

/// A loop's position: the step record fields that belong to the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Started steps: model answers that were not merely paused.
    pub step: u64,
    /// Turns used from the budget.
    pub turn: u64,
    /// Number of answered model calls.
    pub iteration: u64,
    /// Turns in the whole conversation, compacted or not.
    pub turn_index: u64,
    /// The last durable inbox message that the model received.
    pub inbox_consumed_seq: u64,
    /// Milliseconds left in the time budget.
    pub remaining_ms: u64,
}

impl From<&StepRecord> for Position {
    fn from(record: &StepRecord) -> Self {
        Self {
            step: record.step,
            turn: record.turn,
            iteration: record.iteration,
            turn_index: record.turn_index,
            inbox_consumed_seq: record.inbox_consumed_seq,
            remaining_ms: record.remaining_ms,
        }
    }
}
