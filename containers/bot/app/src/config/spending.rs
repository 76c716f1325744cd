//! `[money]`, `[prices."<provider>/<model>"]` and `[windows]`: cost limits, prices, context windows.
//! Amounts are texts in dollars, such as "0.25", because a float would round them.

use std::collections::BTreeMap;

use ars_agent::money::{Price, PriceTable, parse_dollars};
use ars_bot_core::settings::MoneyCaps;
use ars_types::ModelRef;
use serde::Deserialize;

use super::ConfigError;

/// Smallest window in tokens: a smaller window cannot hold a prompt and an answer.
const LEAST_WINDOW: u64 = 8_000;

/// The `[money]` table, in dollars.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Money {
    /// Limit for a single run.
    pub run: Option<String>,
    /// Limit for all runs in a day (UTC).
    pub day: Option<String>,
}

/// `[prices."<provider>/<model>"]`, in dollars per million tokens.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PriceEntry {
    /// Price for fresh input tokens.
    pub input: String,
    /// Price for output tokens.
    pub output: String,
    /// Input read from the prompt cache; as fresh input when absent.
    #[serde(alias = "cache_read")]
    pub cache_read: Option<String>,
    /// Input written to the prompt cache; as fresh input when absent.
    #[serde(alias = "cache_write")]
    pub cache_write: Option<String>,
}

/// Returns the cost limits.
pub(super) fn money(money: &Money) -> Result<MoneyCaps, ConfigError> {
    let cap = |place, amount: &Option<String>| {
        amount
            .as_deref()
            .map(|text| dollars(place, text))
            .transpose()
    };
    Ok(MoneyCaps {
        run: cap("money.run", &money.run)?,
        day: cap("money.day", &money.day)?,
    })
}

/// Returns the model prices.
pub(super) fn price_table(
    prices: &BTreeMap<String, PriceEntry>,
) -> Result<PriceTable, ConfigError> {
    let mut table = PriceTable::default();
    for (model, entry) in prices {
        let model = ModelRef::parse(model).map_err(|_| not_a_model("prices"))?;
        let input = dollars("prices.input", &entry.input)?;
        let or_input = |place, amount: &Option<String>| {
            amount
                .as_deref()
                .map_or(Ok(input), |text| dollars(place, text))
        };
        table.insert(
            &model,
            Price {
                input,
                output: dollars("prices.output", &entry.output)?,
                cache_read: or_input("prices.cacheRead", &entry.cache_read)?,
                cache_write: or_input("prices.cacheWrite", &entry.cache_write)?,
            },
        );
    }
    Ok(table)
}

/// Returns the models' context windows.
pub(super) fn model_windows(
    windows: &BTreeMap<String, u64>,
) -> Result<BTreeMap<String, u64>, ConfigError> {
    for (model, tokens) in windows {
        ModelRef::parse(model).map_err(|_| not_a_model("windows"))?;
        if *tokens < LEAST_WINDOW {
            return Err(ConfigError::invalid(
                "windows",
                "a window must be at least 8000 tokens",
            ));
        }
    }
    Ok(windows.clone())
}

fn dollars(place: &'static str, text: &str) -> Result<u64, ConfigError> {
    parse_dollars(text).map_err(|_| {
        ConfigError::invalid(
            place,
            "must be dollars as a text, such as \"3\" or \"0.25\"",
        )
    })
}

fn not_a_model(place: &'static str) -> ConfigError {
    ConfigError::invalid(place, "each key must be <provider>/<model>")
}

#[cfg(test)]
mod tests {
    use super::{super::File, *};

    fn file(text: &str) -> File {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn amounts_are_read_to_the_micro_dollar() {
        let file = file(
            "[money]\nrun = \"2.50\"\n[prices.\"a/m\"]\ninput = \"3\"\noutput = \"15\"\ncache_read = \"0.3\"\n",
        );
        assert_eq!(
            money(&file.money).unwrap(),
            MoneyCaps {
                run: Some(2_500_000),
                day: None
            }
        );
        let price = price_table(&file.prices)
            .unwrap()
            .price(&ModelRef::parse("a/m").unwrap())
            .unwrap();
        let wanted = Price {
            input: 3_000_000,
            output: 15_000_000,
            cache_read: 300_000,
            cache_write: 3_000_000,
        };
        assert_eq!(price, wanted);
    }

    #[test]
    fn invalid_amounts_and_windows_are_named() {
        for (text, place) in [
            ("[money]\nday = \"3 dollars\"\n", "money.day"),
            ("[prices.\"m\"]\ninput = \"3\"\noutput = \"15\"\n", "prices"),
            (
                "[prices.\"a/m\"]\ninput = \"3\"\noutput = \"-1\"\n",
                "prices.output",
            ),
            ("[windows]\n\"a/m\" = 10\n", "windows"),
        ] {
            let file = file(text);
            let refused = money(&file.money).err();
            let refused = refused
                .or(price_table(&file.prices).err())
                .or(model_windows(&file.windows).err());
            let words = refused.unwrap().to_string();
            assert!(
                words.contains(place) && !words.contains("dollars\""),
                "{words}"
            );
        }
    }
}
