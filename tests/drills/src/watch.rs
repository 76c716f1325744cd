//! Watches running bots: their runs' streams and their child processes. It watches the arguments
//! and environments of the processes below each bot on every machine.
//!
//! Not here: their remains after the end (`searched.rs`). A process that exits between two looks is
//! missed; the canaries keep one waiting.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::Value;

use crate::{
    processes::{arguments, below, is_alive},
    secrets,
};

/// Interval for inspecting a bot's descendants, which reads about every process on the machine.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The output so far.
#[derive(Clone, Default)]
pub struct Watch {
    streams: Arc<Mutex<Vec<Vec<u8>>>>,
    leaks: Arc<Mutex<BTreeSet<String>>>,
}

impl Watch {
    /// Reads an accepted run's stream until the run or the bot ends.
    pub async fn follow(self, client: reqwest::Client, url: String, answer: Value) {
        let run = answer["runId"]
            .as_str()
            .or_else(|| answer["run"]["id"].as_str());
        let Some(run) = run else { return };
        // The bot may be killed during it; the text until then is searched.
        let _ = self.read_to_the_end(&client, &url, run).await;
    }

    async fn read_to_the_end(
        &self,
        client: &reqwest::Client,
        url: &str,
        run: &str,
    ) -> Result<(), reqwest::Error> {
        let ask = |path: String| {
            client
                .get(format!("{url}{path}"))
                .bearer_auth(secrets::DASHBOARD)
                .send()
        };
        let index = ask("/runs".into()).await?.text().await?;
        let token = index
            .split_once(&format!("/runs/{run}?t="))
            .map(|(_, rest)| rest);
        let token = token
            .and_then(|rest| rest.split(['"', '&']).next())
            .unwrap_or_default();
        let mut stream = ask(format!("/runs/{run}/events?t={token}")).await?;
        let place = {
            let mut streams = self.streams.lock().unwrap();
            streams.push(index.into_bytes());
            streams.push(Vec::new());
            streams.len() - 1
        };
        while let Some(chunk) = stream.chunk().await? {
            self.streams.lock().unwrap()[place].extend(chunk);
        }
        Ok(())
    }

    /// Looks at a bot and everything below it until it has ended.
    pub async fn look_at_processes(self, bot: u32) {
        while is_alive(bot) {
            let found = leaks_below(bot);
            self.leaks.lock().unwrap().extend(found);
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// All frames, and the pages that led to them.
    pub fn streams(&self) -> String {
        let streams = self.streams.lock().unwrap();
        streams
            .iter()
            .map(|stream| String::from_utf8_lossy(stream))
            .collect()
    }

    /// Secrets that processes showed.
    pub fn leaks(&self) -> Vec<String> {
        self.leaks.lock().unwrap().iter().cloned().collect()
    }
}

/// Returns the secrets in the arguments of a process and its descendants. A forked process that has
/// not started its own program shows that of its parent and is skipped.
fn leaks_below(root: u32) -> Vec<String> {
    let own = arguments(root);
    let children = below(root)
        .into_iter()
        .filter(|child| child.arguments != own);
    let shown = children.map(|child| format!("{} {}", child.arguments, child.environment));
    let found = std::iter::once(own.clone())
        .chain(shown)
        .flat_map(|text| secrets::seen_in(&text));
    found
        .map(|secret| format!("{secret} in the arguments or the environment of a process"))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn secret_of_a_child_process_is_found() {
        let waiting = |argument: &str, key: &str| {
            let mut command = Command::new("/bin/cat");
            let command = command.args(["-", argument]).env_clear().env("KEY", key);
            command
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        };
        let clean = waiting("-", "none");
        let found_below = |pid| {
            // Until it shows its own program.
            while !arguments(pid).contains(" - ") {
                std::thread::yield_now();
            }
            leaks_below(std::process::id())
                .into_iter()
                .collect::<BTreeSet<_>>()
        };
        assert_eq!(found_below(clean.id()), BTreeSet::new());
        let secretive = waiting("-", secrets::SEARCH);
        assert_eq!(found_below(secretive.id()).len(), 1);
        let called = waiting(secrets::LOCAL, "none");
        assert_eq!(found_below(called.id()).len(), 2);
        for mut child in [clean, secretive, called] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}
