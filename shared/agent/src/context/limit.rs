//! A conversation's size limit, and how the provider's count corrects the estimate.

use serde::{Deserialize, Serialize};

use crate::Usage;

/// Share of the window for the conversation and the answer. The rest absorbs a wrong estimate.
const SHARE_PERCENT: u64 = 80;
/// Least share of the window for the conversation, at any output limit.
const LEAST_PERCENT: u64 = 25;
/// Least plausible provider count, as a share of the estimate in percent. It means eight bytes per
/// token, which no text reaches. Some servers omit cached tokens, and the conversation would
/// outgrow its window.
const LEAST_REPORTED_PERCENT: u64 = 50;

/// The context window of a run's model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextLimit {
    /// The model's window, in tokens.
    pub window_tokens: u64,
    /// Share of the window, in percent, that conversation and answer may fill.
    pub share_percent: u64,
    /// The most output asked for, in tokens.
    pub max_output_tokens: u64,
    /// Estimate for the system prompt and the tools (`estimate_text`), used until the provider has
    /// counted.
    pub fixed_tokens: u64,
}

impl ContextLimit {
    /// The limit for a model with this window and output limit.
    pub const fn new(window_tokens: u64, max_output_tokens: u64) -> Self {
        Self {
            window_tokens,
            share_percent: SHARE_PERCENT,
            max_output_tokens,
            fixed_tokens: 0,
        }
    }

    /// The size above which the conversation is compacted, in tokens.
    pub fn tokens(&self) -> u64 {
        let percent = |share: u64| self.window_tokens.saturating_mul(share) / 100;
        percent(self.share_percent)
            .saturating_sub(self.max_output_tokens)
            .max(percent(LEAST_PERCENT))
    }
}

/// A provider's count for a conversation, with our estimate for the same conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Measure {
    reported: u64,
    estimated: u64,
}

impl Measure {
    /// Returns a call's measure, never far below the estimate; `None` without reported input.
    pub(crate) fn from_usage(usage: Usage, estimated: u64) -> Option<Self> {
        let reported = usage
            .input_tokens
            .saturating_add(usage.cache_read_tokens)
            .saturating_add(usage.cache_write_tokens);
        let least = estimated.saturating_mul(LEAST_REPORTED_PERCENT) / 100;
        (reported > 0).then_some(Self {
            reported: reported.max(least),
            estimated,
        })
    }

    /// Returns a conversation's size: the count, corrected by the estimate for later changes.
    pub(crate) fn size(self, estimated: u64) -> u64 {
        self.reported
            .saturating_add(estimated)
            .saturating_sub(self.estimated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_of_the_window_always_remains() {
        assert_eq!(ContextLimit::new(200_000, 64_000).tokens(), 96_000);
        assert_eq!(ContextLimit::new(100_000, 64_000).tokens(), 25_000);
        assert_eq!(ContextLimit::new(0, 1).tokens(), 0);
    }

    #[test]
    fn provider_count_replaces_the_estimate() {
        let usage = Usage {
            input_tokens: 10,
            cache_read_tokens: 900,
            cache_write_tokens: 90,
            ..Usage::default()
        };
        let measure = Measure::from_usage(usage, 400).unwrap();
        assert_eq!(
            [measure.size(400), measure.size(450), measure.size(100)],
            [1_000, 1_050, 700]
        );
        assert_eq!(
            Measure::from_usage(
                Usage {
                    output_tokens: 5,
                    ..Usage::default()
                },
                400
            ),
            None
        );
    }

    #[test]
    fn implausibly_low_count_is_ignored() {
        let usage = Usage {
            input_tokens: 3,
            ..Usage::default()
        };
        let measure = Measure::from_usage(usage, 10_000).unwrap();
        assert_eq!([measure.size(10_000), measure.size(14_000)], [5_000, 9_000]);
    }
}
