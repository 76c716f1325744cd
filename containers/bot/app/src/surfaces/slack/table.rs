//! `[slack]`: whom the surface admits, and how it catches up. Slack needs both tokens as well.

use ars_bot_slack::Admits;
use ars_slack::catch_up::{WINDOW_DEFAULT_MINUTES, WINDOW_MIN_MINUTES};
use serde::Deserialize;

use crate::error::ConfigError;

/// Maximum minutes that a catch-up looks back: a day.
const WINDOW_MAX_MINUTES: u32 = 24 * 60;

/// Settings in the `[slack]` table.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct SlackTable {
    /// Messages from before a connection.
    #[serde(alias = "catch_up")]
    pub catch_up: CatchUpTable,
    /// Whether guests and people of other organizations may start runs.
    #[serde(alias = "admit_guests")]
    pub admit_guests: bool,
    /// Whether channels that another organization shares may start runs.
    #[serde(alias = "admit_shared_channels")]
    pub admit_shared_channels: bool,
}

/// Settings in the `[slack.catchUp]` table.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct CatchUpTable {
    /// Whether messages from before a connection are served; yes if absent.
    pub enabled: Option<bool>,
    /// Minutes that it looks back.
    #[serde(alias = "window_minutes")]
    pub window_minutes: Option<u32>,
}

impl SlackTable {
    /// Returns the minutes that a catch-up looks back, or `None` without catch-ups.
    ///
    /// # Errors
    /// The window is zero, or longer than a day.
    pub fn window(&self) -> Result<Option<u32>, ConfigError> {
        let CatchUpTable {
            enabled,
            window_minutes,
        } = self.catch_up;
        let minutes = window_minutes.unwrap_or(WINDOW_DEFAULT_MINUTES);
        if !(1..=WINDOW_MAX_MINUTES).contains(&minutes) {
            return Err(ConfigError::invalid(
                "slack.catchUp.windowMinutes",
                format!("must be 1 to {WINDOW_MAX_MINUTES}"),
            ));
        }
        Ok(enabled.unwrap_or(true).then_some(minutes))
    }

    /// Returns a warning about a short window.
    pub fn warning(&self) -> Option<String> {
        let minutes = self.catch_up.window_minutes?;
        (minutes < WINDOW_MIN_MINUTES).then(|| {
            format!(
                "slack.catchUp.windowMinutes is {minutes}: a restart that takes longer loses messages; \
                 {WINDOW_MIN_MINUTES} or more is safe"
            )
        })
    }

    /// Returns whom the surface admits.
    pub fn admits(&self) -> Admits {
        Admits {
            guests: self.admit_guests,
            shared_channels: self.admit_shared_channels,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(toml: &str) -> Result<SlackTable, toml::de::Error> {
        toml::from_str(toml)
    }

    #[test]
    fn window_has_a_default_and_bounds() {
        for (toml, window) in [
            ("", Some(Some(30))),
            ("catchUp.enabled = false", Some(None)),
            ("catchUp.windowMinutes = 1440", Some(Some(1440))),
            ("catch_up.window_minutes = 5", Some(Some(5))),
            ("catchUp.windowMinutes = 0", None),
            ("catchUp.windowMinutes = 1441", None),
        ] {
            assert_eq!(table(toml).unwrap().window().ok(), window, "{toml}");
        }
        assert!(
            table("catchUp.windowMinutes = 19")
                .unwrap()
                .warning()
                .is_some()
        );
        assert!(
            table("catchUp.windowMinutes = 20")
                .unwrap()
                .warning()
                .is_none()
        );
    }

    #[test]
    fn wrong_types_and_unknown_keys_are_named() {
        for (toml, named) in [
            ("catchUp.windowMinutes = \"30\"", "windowMinutes"),
            ("catchUp.enabled = 1", "enabled"),
            ("catchup.enabled = true", "catchup"),
            ("token = \"x\"", "token"),
        ] {
            let error = table(toml).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}
