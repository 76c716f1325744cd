//! `[review]`: reading diffs for reviews.

use std::time::Duration;

use ars_codehost::review::{Provider, ReadingDiffSettings};
use ars_types::ModelRef;
use serde::Deserialize;

use super::ConfigError;

/// Largest abridger timeout in seconds.
const MAX_ABRIDGER_TIMEOUT_S: u64 = 3_600;
/// The same as a duration.
pub const MAX_ABRIDGER_TIMEOUT: Duration = Duration::from_secs(MAX_ABRIDGER_TIMEOUT_S);

/// Settings in the `[review]` table.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Review {
    /// Settings for reading diffs.
    #[serde(alias = "reading_diff")]
    pub reading_diff: ReadingDiff,
}

/// Settings in the `[review.readingDiff]` table.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct ReadingDiff {
    /// `git`, `meat` or `off`; `git` if absent.
    pub provider: Option<String>,
    /// The abridger's model.
    #[serde(alias = "meat_model")]
    pub meat_model: Option<ModelRef>,
    /// Abridger timeout in seconds.
    #[serde(alias = "meat_timeout_s")]
    pub meat_timeout_s: Option<u64>,
}

impl Review {
    /// Returns the settings. `word` comes from the environment, and wins if it is known.
    pub fn reading_diff(&self, word: Option<&str>) -> Result<ReadingDiffSettings, ConfigError> {
        let ReadingDiff {
            provider,
            meat_model,
            meat_timeout_s,
        } = &self.reading_diff;
        let usual = ReadingDiffSettings::default();
        let provider = match provider {
            None => usual.provider,
            Some(text) => Provider::parse(text).ok_or_else(|| {
                ConfigError::invalid("review.readingDiff.provider", "must be git, meat or off")
            })?,
        };
        let timeout_s = meat_timeout_s.unwrap_or(usual.timeout_s);
        if !(1..=MAX_ABRIDGER_TIMEOUT_S).contains(&timeout_s) {
            return Err(ConfigError::invalid(
                "review.readingDiff.meatTimeoutS",
                "must be 1 to 3600",
            ));
        }
        let model = meat_model.as_ref().map(ToString::to_string);
        Ok(ReadingDiffSettings {
            provider,
            model,
            timeout_s,
        }
        .with_override(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(toml: &str, word: Option<&str>) -> Result<ReadingDiffSettings, ConfigError> {
        toml::from_str::<Review>(toml).unwrap().reading_diff(word)
    }

    #[test]
    fn word_of_the_environment_wins() {
        let meat = "[readingDiff]\nprovider = \"meat\"\nmeatModel = \"a/b\"\nmeatTimeoutS = 5";
        let expected = ReadingDiffSettings {
            provider: Provider::Meat,
            model: Some("a/b".to_owned()),
            timeout_s: 5,
        };
        assert_eq!(read(meat, None).unwrap(), expected);
        assert_eq!(read(meat, Some("nonsense")).unwrap(), expected);
        assert_eq!(read(meat, Some("off")).unwrap().provider, Provider::Off);
        assert_eq!(read("", None).unwrap(), ReadingDiffSettings::default());
        for bad in [
            "provider = \"diff\"",
            "meatTimeoutS = 0",
            "meatTimeoutS = 3601",
        ] {
            assert!(
                read(&format!("[readingDiff]\n{bad}"), None).is_err(),
                "{bad}"
            );
        }
    }
}
