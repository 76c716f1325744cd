//! `[memory]`: memory across runs, disabled by default.
//!
//! It is in the run history's store, unless it has a separate Worker (`[memory.worker]`).

use ars_bot_core::memory::Budget;
use ars_types::ModelRef;
use serde::Deserialize;

use super::{ConfigError, history::Worker};

/// Default record limit in a scope.
const MAX_RECORDS: u32 = 500;
/// Largest record limit in a scope.
const MOST_RECORDS: u32 = 10_000;
/// Largest record count in a single retrieval.
const MOST_LIMIT: usize = 50;

/// Settings in the `[memory]` table.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Memory {
    /// Whether memory is enabled.
    pub enabled: bool,
    /// Record limit in a prompt, 1 to 50.
    pub limit: Option<usize>,
    /// Limit for the records' tokens.
    #[serde(alias = "max_tokens")]
    pub max_tokens: Option<usize>,
    /// The model that reflects; the run's own when absent.
    pub model: Option<ModelRef>,
    /// Record limit in a scope, 1 to 10000. Untyped, because an invalid limit must not prevent the
    /// start.
    #[serde(alias = "max_records_per_scope")]
    pub max_records_per_scope: Option<serde_json::Value>,
    /// The Worker for memory, if not the Worker of the run history.
    pub worker: Option<Worker>,
}

impl Memory {
    /// Returns the memory budget in a prompt.
    pub fn budget(&self) -> Result<Budget, ConfigError> {
        let usual = Budget::default();
        let limit = self.limit.unwrap_or(usual.limit);
        if !(1..=MOST_LIMIT).contains(&limit) {
            return Err(ConfigError::invalid("memory.limit", "must be 1 to 50"));
        }
        Ok(Budget {
            limit,
            max_tokens: self.max_tokens.unwrap_or(usual.max_tokens),
        })
    }

    /// Returns the record limit in a scope. An invalid value is logged and replaced by the default.
    pub fn records_per_scope(&self) -> u32 {
        let Some(wanted) = &self.max_records_per_scope else {
            return MAX_RECORDS;
        };
        let records = wanted
            .as_u64()
            .and_then(|records| u32::try_from(records).ok());
        if let Some(records) = records.filter(|records| (1..=MOST_RECORDS).contains(records)) {
            return records;
        }
        tracing::warn!(
            key = "memory.maxRecordsPerScope",
            default = MAX_RECORDS,
            "not an integer from 1 to 10000: not used"
        );
        MAX_RECORDS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_off_and_modest_by_default() {
        let memory: Memory = toml::from_str("").unwrap();
        assert!(!memory.enabled);
        let budget = memory.budget().unwrap();
        assert_eq!(
            (budget.limit, budget.max_tokens, memory.records_per_scope()),
            (8, 800, 500)
        );
    }

    fn memory(text: &str) -> Memory {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn a_prompt_shows_between_1_and_50_records() {
        for limit in [1, 50] {
            assert_eq!(
                memory(&format!("limit = {limit}")).budget().unwrap().limit,
                limit
            );
        }
        for text in ["limit = 0", "limit = 51"] {
            assert!(
                memory(text)
                    .budget()
                    .unwrap_err()
                    .to_string()
                    .contains("memory.limit"),
                "{text}"
            );
        }
    }

    #[test]
    fn invalid_record_limit_becomes_the_default() {
        for (value, records) in [("1", 1), ("10000", 10_000)] {
            assert_eq!(
                memory(&format!("max_records_per_scope = {value}")).records_per_scope(),
                records
            );
        }
        for value in [
            "0",
            "-1",
            "10001",
            "4294967297",
            "7.0",
            "\"7\"",
            "true",
            "[7]",
        ] {
            assert_eq!(
                memory(&format!("max_records_per_scope = {value}")).records_per_scope(),
                500,
                "{value}"
            );
        }
    }
}
