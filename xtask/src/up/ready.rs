//! The ready file: one JSON object, there when everything answers and not before.

use std::fs;
use std::io::ErrorKind;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::bot::Bot;
use super::data_dir::write_private;
use super::options::Options;
use super::secrets::Secrets;
use super::state::State;

/// Removes the file, of an earlier start or because this one ends: whoever waits for it must not find that one.
pub fn withdraw(options: &Options) -> Result<()> {
    let Some(path) = &options.ready_file else { return Ok(()) };
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

/// Writes the file.
pub fn announce(options: &Options, bot: &Bot, state: Option<&State>, secrets: &Secrets) -> Result<()> {
    let Some(path) = &options.ready_file else { return Ok(()) };
    let state_url = state.map(State::url);
    write_private(path, &content(bot.url(), state_url.as_deref(), secrets)?.to_string())
}

fn content(bot: &str, state: Option<&str>, secrets: &Secrets) -> Result<Value> {
    let mut ready = json!({"bot": {"url": bot}});
    if let Some(url) = state {
        ready["state"] = json!({"url": url, "token": secrets.state});
    }
    ready["tokens"] = serde_json::to_value(&secrets.tokens)?;
    Ok(ready)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_file_says_where_and_with_what() {
        let secrets = Secrets { state: "s".into(), ingress: "{}".into(), tokens: BTreeMap::new() };
        let embedded = content("http://b", None, &secrets).unwrap();
        assert_eq!(embedded, json!({"bot": {"url": "http://b"}, "tokens": {}}));
        let worker = content("http://b", Some("http://w"), &secrets).unwrap();
        assert_eq!(worker["state"], json!({"url": "http://w", "token": "s"}));
    }
}
