//! What the run has spent, and whether the next call can be paid.
//!
//! A cap fails closed: without a price nothing is affordable. A step is affordable only if a closing call can be paid
//! after it, so that a run ends in its own words.

use super::{
    Loop,
    saved::{Limits, Spent},
};
use crate::{Usage, context::ContextLimit, money::Price};

impl Loop {
    /// Tokens used so far.
    pub fn usage(&self) -> Usage {
        self.saved.usage
    }

    /// Micro-dollars spent so far; none when a call was made whose price is not known.
    pub fn cost(&self) -> Option<u64> {
        self.saved.cost()
    }

    /// Whether a model with this price may be asked: under a cap only one whose cost can be counted.
    pub fn allows_price(&self, price: Option<Price>) -> bool {
        self.saved.limits.cap.is_none() || price.is_some()
    }

    /// What the call asked for sends, as far as anybody knows: what a call that was cut off is counted with when the
    /// provider has reported nothing.
    pub fn sent_usage(&self) -> Usage {
        Usage { input_tokens: self.size_of(self.sent), ..Usage::default() }
    }

    /// Counts what a call used that gave no answer.
    pub fn charge(&mut self, usage: Usage) {
        self.spend(usage);
    }

    /// From the next call on another model is asked, with this price and window. Refused, with nothing changed, when
    /// there is a cap and no price: false.
    #[must_use]
    pub fn switch_model(&mut self, price: Option<Price>, context: Option<ContextLimit>) -> bool {
        if !self.allows_price(price) {
            return false;
        }
        // What one model counted says little about another's tokens; the same model with the same window counts on.
        if self.saved.limits.price != price || self.saved.limits.context != context {
            self.saved.measure = None;
        }
        self.saved.limits = Limits { price, context, ..self.saved.limits };
        true
    }

    pub(super) fn spend(&mut self, usage: Usage) {
        self.saved.usage += usage;
        let spent = self.saved.spent;
        self.saved.spent = match self.saved.limits.price {
            Some(price) => Spent { microusd: spent.microusd.saturating_add(price.cost(usage)), ..spent },
            None => Spent { is_partial: true, ..spent },
        };
    }

    /// There is a cap, and nothing to hold it against.
    pub(super) fn is_unpriced(&self) -> bool {
        let Limits { cap, price, .. } = self.saved.limits;
        cap.is_some() && (price.is_none() || self.saved.spent.is_partial)
    }

    /// The next call can be paid.
    pub(super) fn affords_call(&self) -> bool {
        self.affords(1, 0)
    }

    /// The next call with the messages that wait can be paid, and a closing call after it.
    pub(super) fn affords_step(&self) -> bool {
        self.affords(2, self.inbox.tokens())
    }

    /// A summary can be paid, and a step after it.
    pub(super) fn affords_summary(&self) -> bool {
        self.affords(3, 0)
    }

    fn affords(&self, calls: u64, added_tokens: u64) -> bool {
        let Some(cap) = self.saved.limits.cap else { return true };
        let Some(price) = self.saved.limits.price else { return false };
        let least = price.least(self.size().saturating_add(added_tokens)).saturating_mul(calls);
        self.saved.spent.microusd.saturating_add(least) <= cap.run_microusd
    }
}
