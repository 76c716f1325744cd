//! The run's spend, and whether the next call can be paid.
//!
//! A cap fails closed: without a price no call is affordable. A step is affordable only if a
//! closing call can be paid behind it, so that the run ends with an answer from the model.

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

    /// Returns the cost so far in micro-dollars; `None` if a call had no known price.
    pub fn cost(&self) -> Option<u64> {
        self.saved.cost()
    }

    /// Whether a model with this price may be called. Under a cap the cost must be known.
    pub fn allows_price(&self, price: Option<Price>) -> bool {
        self.saved.limits.cap.is_none() || price.is_some()
    }

    /// Returns the current call's estimated usage. It counts when the call is cut off before the
    /// provider reports any.
    pub fn sent_usage(&self) -> Usage {
        Usage {
            input_tokens: self.size_of(self.sent),
            ..Usage::default()
        }
    }

    /// Counts usage from a call without an answer.
    pub fn charge(&mut self, usage: Usage) {
        self.spend(usage);
    }

    /// Switches to another model's price and window.
    /// Returns `false`, without a change, under a cap and without a price.
    #[must_use]
    pub fn switch_model(&mut self, price: Option<Price>, context: Option<ContextLimit>) -> bool {
        if !self.allows_price(price) {
            return false;
        }
        // A model's count does not apply to another model's tokens. The same model with the same
        // window keeps it.
        if self.saved.limits.price != price || self.saved.limits.context != context {
            self.saved.measure = None;
        }
        self.saved.limits = Limits {
            price,
            context,
            ..self.saved.limits
        };
        true
    }

    pub(super) fn spend(&mut self, usage: Usage) {
        self.saved.usage += usage;
        let spent = self.saved.spent;
        self.saved.spent = match self.saved.limits.price {
            Some(price) => Spent {
                microusd: spent.microusd.saturating_add(price.cost(usage)),
                ..spent
            },
            None => Spent {
                is_partial: true,
                ..spent
            },
        };
    }

    /// Whether there is a cap and no price.
    pub(super) fn is_unpriced(&self) -> bool {
        let Limits { cap, price, .. } = self.saved.limits;
        cap.is_some() && (price.is_none() || self.saved.spent.is_partial)
    }

    /// Whether the next call can be paid.
    pub(super) fn affords_call(&self) -> bool {
        self.affords(1, 0)
    }

    /// Whether the next call with the waiting messages can be paid, and a closing call behind it.
    pub(super) fn affords_step(&self) -> bool {
        self.affords(2, self.inbox.tokens())
    }

    /// Whether a summary can be paid, and a step behind it.
    pub(super) fn affords_summary(&self) -> bool {
        self.affords(3, 0)
    }

    fn affords(&self, calls: u64, added_tokens: u64) -> bool {
        let Some(cap) = self.saved.limits.cap else {
            return true;
        };
        let Some(price) = self.saved.limits.price else {
            return false;
        };
        let least = price
            .least(self.size().saturating_add(added_tokens))
            .saturating_mul(calls);
        self.saved.spent.microusd.saturating_add(least) <= cap.run_microusd
    }
}
