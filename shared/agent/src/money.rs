//! A run's cost and cap, in whole micro-dollars, so that sums stay exact.
//!
//! Not here: reading prices, and the daily cap. A caller with a daily cap passes the remainder as
//! the run's cap.

use std::collections::BTreeMap;

use ars_types::ModelRef;
use serde::{Deserialize, Serialize};

use crate::Usage;
pub use crate::error::AmountError;

/// Number of tokens that a price applies to.
const PRICED_TOKENS: u128 = 1_000_000;
/// Micro-dollars in a dollar.
const DOLLAR: u64 = 1_000_000;
/// Decimal places of a micro-dollar.
pub(crate) const DECIMALS: usize = 6;
/// Least output of a useful call, in tokens. It prices the cheapest next call.
const LEAST_OUTPUT_TOKENS: u64 = 256;

/// A model's prices in micro-dollars per million tokens. Without a prompt cache, both cache prices
/// equal the input price.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Price {
    /// Price of input that no cache served.
    pub input: u64,
    /// Price of the model's output.
    pub output: u64,
    /// Input read from the prompt cache.
    pub cache_read: u64,
    /// Input written to the prompt cache.
    pub cache_write: u64,
}

impl Price {
    /// Returns the cost for these tokens, rounded up, so that summed calls are never below the real
    /// cost.
    pub fn cost(&self, usage: Usage) -> u64 {
        let priced = [
            (usage.input_tokens, self.input),
            (usage.output_tokens, self.output),
            (usage.cache_read_tokens, self.cache_read),
            (usage.cache_write_tokens, self.cache_write),
        ];
        let sum = priced.into_iter().fold(0_u128, |sum, (tokens, price)| {
            sum.saturating_add(u128::from(tokens).saturating_mul(u128::from(price)))
        });
        u64::try_from(sum.div_ceil(PRICED_TOKENS)).unwrap_or(u64::MAX)
    }

    /// Returns the least cost for a call with this input.
    pub fn least(&self, input_tokens: u64) -> u64 {
        let output_tokens = LEAST_OUTPUT_TOKENS;
        let usage = if self.cache_read < self.input {
            Usage {
                cache_read_tokens: input_tokens,
                output_tokens,
                ..Usage::default()
            }
        } else {
            Usage {
                input_tokens,
                output_tokens,
                ..Usage::default()
            }
        };
        self.cost(usage)
    }
}

/// A run's cost cap. The last call may exceed it by the difference between the actual and the least
/// cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MoneyCap {
    /// The cap in micro-dollars.
    pub run_microusd: u64,
}

/// The configured prices, by `provider/model`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PriceTable(BTreeMap<String, Price>);

impl PriceTable {
    /// Sets a model's price.
    pub fn insert(&mut self, model: &ModelRef, price: Price) {
        self.0.insert(model.to_string(), price);
    }

    /// Returns a model's price; `None` if it is not configured, which differs from free.
    pub fn price(&self, model: &ModelRef) -> Option<Price> {
        self.0.get(&model.to_string()).copied()
    }
}

/// Parses dollars (`0.25`) to micro-dollars.
pub fn parse_dollars(text: &str) -> Result<u64, AmountError> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(fraction) || fraction.len() > DECIMALS {
        return Err(AmountError);
    }
    let whole: u64 = whole.parse().map_err(|_| AmountError)?;
    let fraction: u64 = format!("{fraction:0<DECIMALS$}")
        .parse()
        .map_err(|_| AmountError)?;
    whole
        .checked_mul(DOLLAR)
        .and_then(|whole| whole.checked_add(fraction))
        .ok_or(AmountError)
}

/// Formats micro-dollars as dollars, with cents and further digits where there are any.
pub fn dollars(microusd: u64) -> String {
    let fraction = format!("{:0>DECIMALS$}", microusd % DOLLAR);
    let (cents, further) = fraction.split_at(2);
    format!(
        "${}.{cents}{}",
        microusd / DOLLAR,
        further.trim_end_matches('0')
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PRICE: Price = Price {
        input: 3_000_000,
        output: 15_000_000,
        cache_read: 300_000,
        cache_write: 3_750_000,
    };

    fn usage(input: u64, output: u64, read: u64, write: u64) -> Usage {
        Usage {
            input_tokens: input,
            output_tokens: output,
            cache_read_tokens: read,
            cache_write_tokens: write,
        }
    }

    #[test]
    fn each_kind_of_token_has_its_price() {
        assert_eq!(PRICE.cost(usage(1_000_000, 0, 0, 0)), 3_000_000);
        assert_eq!(
            PRICE.cost(usage(1_000, 200, 10_000, 400)),
            3_000 + 3_000 + 3_000 + 1_500
        );
        assert_eq!(PRICE.cost(Usage::default()), 0);
    }

    #[test]
    fn cost_is_rounded_up() {
        assert_eq!(PRICE.cost(usage(0, 0, 1, 0)), 1);
        assert_eq!(PRICE.cost(usage(0, 0, 4, 0)), 2);
        assert_eq!(
            PRICE.cost(usage(u64::MAX, u64::MAX, u64::MAX, u64::MAX)),
            u64::MAX
        );
    }

    #[test]
    fn cheapest_call_uses_the_cheaper_input_price() {
        assert_eq!(PRICE.least(1_000_000), 300_000 + 3_840);
        let uncached = Price {
            cache_read: 3_000_000,
            ..PRICE
        };
        assert_eq!(uncached.least(1_000_000), 3_000_000 + 3_840);
    }

    #[test]
    fn a_model_without_a_row_has_no_price() {
        let model = |name| ModelRef::parse(name).unwrap();
        let mut table = PriceTable::default();
        table.insert(&model("a/b"), PRICE);
        assert_eq!(
            (table.price(&model("a/b")), table.price(&model("a/c"))),
            (Some(PRICE), None)
        );
    }

    #[test]
    fn amounts_are_read_exactly_or_refused() {
        assert_eq!(parse_dollars("3"), Ok(3_000_000));
        assert_eq!(parse_dollars("0.25"), Ok(250_000));
        assert_eq!(parse_dollars("0.000001"), Ok(1));
        for wrong in [
            "",
            ".5",
            "1.",
            "-1",
            "+1",
            "1e3",
            "0.0000001",
            "1,5",
            "99999999999999999999",
            " 1",
        ] {
            assert_eq!(parse_dollars(wrong), Err(AmountError), "{wrong}");
        }
    }

    #[test]
    fn amounts_are_shown_with_cents() {
        let shown = [0, 1, 500_000, 1_250_000, 1_234_567].map(dollars);
        assert_eq!(shown, ["$0.00", "$0.000001", "$0.50", "$1.25", "$1.234567"]);
    }

    proptest! {
        #[test]
        fn what_is_shown_reads_back(microusd in any::<u64>()) {
            prop_assert_eq!(parse_dollars(&dollars(microusd)[1..]), Ok(microusd));
        }
    }
}
