//! One process of the bot: started, asked, killed, and everything it said.

use std::{
    process::ExitStatus,
    sync::{Arc, Mutex},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
    task::JoinHandle,
    time::timeout,
};

use crate::secrets;

/// Longest a step of a drill may take; only a hang reaches it.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks at a condition.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A process of the bot.
pub struct Bot {
    child: Child,
    url: Option<String>,
    log: Arc<Mutex<String>>,
    reading: JoinHandle<()>,
    client: reqwest::Client,
}

impl Bot {
    /// Starts it and waits until it listens, or is dead.
    pub async fn start(command: &mut Command) -> Self {
        let mut child = command.spawn().expect("the bot starts");
        let mut stdout = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines();
        let log = Arc::<Mutex<String>>::default();
        let reading = tokio::spawn({
            let log = Arc::clone(&log);
            async move {
                while let Ok(Some(line)) = stderr.next_line().await {
                    let mut log = log.lock().unwrap();
                    log.push_str(&line);
                    log.push('\n');
                }
            }
        });
        let line = timeout(PATIENCE, stdout.next_line()).await.expect("the bot listens or dies");
        let url = line.unwrap().map(|line| {
            let line: Value = serde_json::from_str(&line).expect("one JSON line");
            line["listening"].as_str().expect("an address").to_owned()
        });
        Self { child, url, log, reading, client: reqwest::Client::new() }
    }

    /// Posts a request to the ingress, in a task of its own: the bot may die over it. What broke it off, when it did.
    pub fn ask(&self, body: &Value) -> JoinHandle<Result<(u16, Value), String>> {
        let request = self
            .url
            .as_ref()
            .map(|url| self.client.post(format!("{url}/ingress")).bearer_auth(secrets::INGRESS).json(body));
        tokio::spawn(async move {
            let request = request.ok_or("the bot does not listen")?;
            let asked = async {
                let answer = request.send().await?;
                Ok::<_, reqwest::Error>((answer.status().as_u16(), answer.json().await?))
            };
            let answer = timeout(PATIENCE, asked).await.map_err(|_| "no answer in time")?;
            answer.map_err(|error| format!("{error:?}"))
        })
    }

    /// Reads a page or a finished stream.
    pub async fn read(&self, path: &str) -> String {
        let url = format!("{}{path}", self.url.as_deref().expect("the bot listens"));
        let text = async { self.client.get(url).send().await.unwrap().text().await.unwrap() };
        timeout(PATIENCE, text).await.expect("an answer")
    }

    /// Opens a stream.
    pub async fn stream(&self, path: &str) -> reqwest::Response {
        let url = format!("{}{path}", self.url.as_deref().expect("the bot listens"));
        timeout(PATIENCE, self.client.get(url).send()).await.expect("an answer").unwrap()
    }

    /// The address below which everything is; none when it died before it listened.
    pub fn url(&self) -> Option<&str> {
        self.url.as_deref()
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id().expect("the bot runs")
    }

    /// Whether it has ended.
    pub fn is_dead(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits for its end.
    pub async fn ended(&mut self) -> ExitStatus {
        timeout(PATIENCE, self.child.wait()).await.expect("the bot ends").unwrap()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.pid().cast_signed()).unwrap(), signal).unwrap();
    }

    /// Asks it to end, and waits until it has.
    pub async fn terminate(&mut self) -> ExitStatus {
        self.signal(Signal::TERM);
        self.ended().await
    }

    /// What it has written to standard error so far; everything, once it has ended.
    pub async fn log(&mut self) -> String {
        if self.is_dead() {
            timeout(PATIENCE, &mut self.reading).await.expect("the log ends with the process").unwrap();
        }
        self.log.lock().unwrap().clone()
    }
}

/// Waits until a condition holds.
pub async fn until(what: &str, holds: impl FnMut() -> bool) {
    assert!(comes_true(holds).await, "not in time: {what}");
}

/// Waits until a condition holds; false when that takes longer than anything but a hang does.
pub async fn comes_true(mut holds: impl FnMut() -> bool) -> bool {
    let polled = async {
        while !holds() {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    };
    timeout(PATIENCE, polled).await.is_ok()
}
