//! `[people.<name>]`: accounts on several surfaces that belong to one person.

use std::collections::BTreeMap;

use ars_auth::people::People;
use serde::Deserialize;

use super::ConfigError;

/// A single person.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    accounts: Vec<String>,
}

/// Returns the people. The names only serve readers of the file. `users` are the accounts with
/// settings, of which only main accounts' are in force.
pub fn people<'a>(
    entries: &BTreeMap<String, Entry>,
    users: impl IntoIterator<Item = &'a String>,
) -> Result<People, ConfigError> {
    let mut people = People::default();
    for (name, entry) in entries {
        people.add(&entry.accounts).map_err(|fault| {
            let index = fault
                .index()
                .map_or(String::new(), |index| format!("[{index}]"));
            ConfigError::invalid(format!("people.{name}.accounts{index}"), fault.to_string())
        })?;
    }
    let mut users = users.into_iter();
    match users.find(|user| people.main_account(user) != *user) {
        Some(user) => Err(ConfigError::invalid(
            format!("users.{user}"),
            "must be the main account, the first one that `people` lists for this person",
        )),
        None => Ok(people),
    }
}
