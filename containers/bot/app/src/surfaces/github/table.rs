//! `[webhook]`: actors for code host logins. Webhooks need a secret as well.

use std::collections::BTreeMap;

use ars_types::Platform;
use serde::Deserialize;

use crate::error::ConfigError;

/// Settings in the `[webhook]` table.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Webhook {
    /// Actor ids, such as `http:ann`, by code host login.
    pub users: BTreeMap<String, String>,
    /// Actor id for failed checks on the service's own pull requests.
    pub checks: Option<String>,
}

impl Webhook {
    /// Returns the actor ids by login in lower case.
    pub fn users(&self) -> Result<BTreeMap<String, String>, ConfigError> {
        self.checks
            .iter()
            .try_for_each(|id| valid("webhook.checks", id))?;
        let mut users = BTreeMap::new();
        for (login, id) in &self.users {
            valid(&format!("webhook.users.{login}"), id)?;
            if users
                .insert(login.to_ascii_lowercase(), id.clone())
                .is_some()
            {
                return Err(ConfigError::invalid(
                    "webhook.users",
                    format!("`{login}` occurs twice"),
                ));
            }
        }
        Ok(users)
    }
}

fn valid(key: &str, id: &str) -> Result<(), ConfigError> {
    // The machine's own user can name any repository.
    let is_actor = Platform::split(id)
        .is_some_and(|(platform, name)| platform != Platform::Cli && !name.is_empty());
    if is_actor && !id.contains(char::is_whitespace) {
        return Ok(());
    }
    Err(ConfigError::invalid(
        key,
        "must be an actor id of a known platform, such as `http:ann`, and not one of the command line",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(login: &str, id: &str) -> Result<BTreeMap<String, String>, ConfigError> {
        Webhook {
            users: [(login.to_owned(), id.to_owned())].into(),
            checks: None,
        }
        .users()
    }

    #[test]
    fn users_are_actors_of_channels() {
        assert_eq!(
            parsed("Ann", "http:ann").unwrap(),
            [("ann".to_owned(), "http:ann".to_owned())].into()
        );
        for id in [
            "",
            "ann",
            ":ann",
            "http:",
            "http:a b",
            "cli:local",
            "telegram:ann",
        ] {
            assert!(parsed("ann", id).is_err(), "{id}");
        }
        let both = ["Ann", "ann"].map(|login| (login.to_owned(), "http:ann".to_owned()));
        assert!(
            Webhook {
                users: both.into(),
                checks: None
            }
            .users()
            .is_err()
        );
        assert!(
            Webhook {
                users: BTreeMap::new(),
                checks: Some("cli:local".to_owned())
            }
            .users()
            .is_err()
        );
    }
}
