//! `[memory]` (document 2 section 2.2): what is remembered from run to run. Off unless it is switched on.
//!
//! It is kept where the run history is kept, unless it has a Worker of its own (`[memory.worker]`).

use ars_bot_core::memory::Budget;
use ars_types::ModelRef;
use serde::Deserialize;

use super::{ConfigError, history::Worker};

/// Records a scope keeps at most (document 2 section 2.2, `memory.maxRecordsPerScope`).
const MAX_RECORDS: u32 = 500;
/// The most that a scope may be told to keep (state-worker supplement section 12).
const MOST_RECORDS: u32 = 10_000;
/// The most that one retrieval gives (document 2 section 8).
const MOST_LIMIT: usize = 50;

/// `[memory]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Memory {
    /// Whether anything is remembered.
    pub enabled: bool,
    /// Records a prompt shows at most, 1 to 50.
    pub limit: Option<usize>,
    /// Tokens they take at most.
    pub max_tokens: Option<usize>,
    /// The model that reflects; the run's own when absent.
    pub model: Option<ModelRef>,
    /// Records a scope keeps at most, 1 to 10000. Of any type: one that cannot be used is no reason not to start.
    pub max_records_per_scope: Option<toml::Value>,
    /// The Worker that keeps it, when that is not the one of the run history.
    pub worker: Option<Worker>,
}

impl Memory {
    /// What a prompt shows.
    pub fn budget(&self) -> Result<Budget, ConfigError> {
        let usual = Budget::default();
        let limit = self.limit.unwrap_or(usual.limit);
        if !(1..=MOST_LIMIT).contains(&limit) {
            return Err(ConfigError::invalid("memory.limit", "must be 1 to 50"));
        }
        Ok(Budget { limit, max_tokens: self.max_tokens.unwrap_or(usual.max_tokens) })
    }

    /// What a scope keeps. One that is out of bounds or no integer is warned of and not used (state-worker supplement
    /// section 12).
    pub fn records_per_scope(&self) -> u32 {
        let Some(wanted) = &self.max_records_per_scope else { return MAX_RECORDS };
        let records = wanted.as_integer().and_then(|records| u32::try_from(records).ok());
        if let Some(records) = records.filter(|records| (1..=MOST_RECORDS).contains(records)) {
            return records;
        }
        tracing::warn!(
            key = "memory.max_records_per_scope",
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
        assert_eq!((budget.limit, budget.max_tokens, memory.records_per_scope()), (8, 800, 500));
    }

    fn memory(text: &str) -> Memory {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn a_prompt_shows_between_1_and_50_records() {
        for limit in [1, 50] {
            assert_eq!(memory(&format!("limit = {limit}")).budget().unwrap().limit, limit);
        }
        for text in ["limit = 0", "limit = 51"] {
            assert!(memory(text).budget().unwrap_err().to_string().contains("memory.limit"), "{text}");
        }
    }

    #[test]
    fn a_number_of_records_that_cannot_be_used_leaves_the_usual_one() {
        for (value, records) in [("1", 1), ("10000", 10_000)] {
            assert_eq!(memory(&format!("max_records_per_scope = {value}")).records_per_scope(), records);
        }
        for value in ["0", "-1", "10001", "4294967297", "7.0", "\"7\"", "true", "[7]"] {
            assert_eq!(
                memory(&format!("max_records_per_scope = {value}")).records_per_scope(),
                500,
                "{value}"
            );
        }
    }
}
