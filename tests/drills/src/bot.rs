//! A single bot process: start, requests, end, and output.

use std::{path::PathBuf, process::ExitStatus, time::Duration};

use reqwest::RequestBuilder;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
    task::JoinHandle,
    time::timeout,
};
use tokio_util::task::TaskTracker;

use crate::{secrets, watch::Watch};

/// Longest a drill step may take; only a hang reaches it.
pub const TIMEOUT: Duration = Duration::from_secs(180);
/// Between two looks at a condition.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A single bot process.
pub struct Bot {
    child: Child,
    url: Option<String>,
    log: PathBuf,
    client: reqwest::Client,
    watch: Watch,
    watching: TaskTracker,
}

impl Bot {
    /// Starts it and waits until it listens or exits. The log is a file, which is complete however
    /// it dies, and is watched.
    pub async fn start(command: &mut Command, log: PathBuf, watch: Watch) -> Self {
        let file = std::fs::File::create(&log).expect("a log");
        let mut child = command.stderr(file).spawn().expect("the bot starts");
        let watching = TaskTracker::new();
        watching.spawn(
            watch
                .clone()
                .look_at_processes(child.id().expect("the bot runs")),
        );
        let mut stdout = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = timeout(TIMEOUT, stdout.next_line())
            .await
            .expect("the bot listens or dies");
        let url = line.unwrap().map(|line| {
            let line: Value = serde_json::from_str(&line).expect("one JSON line");
            line["listening"].as_str().expect("an address").to_owned()
        });
        Self {
            child,
            url,
            log,
            client: reqwest::Client::new(),
            watch,
            watching,
        }
    }

    /// Posts a request to the ingress in a separate task, because the bot may die during it.
    /// Returns the error that broke it off. The run's stream is read from the answer on.
    pub fn ask(&self, body: &Value) -> JoinHandle<Result<(u16, Value), String>> {
        self.send(self.request(body))
    }

    /// Posts a request with an `Idempotency-Key`, see [`Self::ask`].
    pub fn ask_with_key(
        &self,
        body: &Value,
        key: &str,
    ) -> JoinHandle<Result<(u16, Value), String>> {
        self.send(
            self.request(body)
                .map(|request| request.header("idempotency-key", key)),
        )
    }

    fn request(&self, body: &Value) -> Option<RequestBuilder> {
        let ingress = format!("{}/ingress", self.url.as_ref()?);
        Some(
            self.client
                .post(ingress)
                .bearer_auth(secrets::INGRESS)
                .json(body),
        )
    }

    fn send(&self, request: Option<RequestBuilder>) -> JoinHandle<Result<(u16, Value), String>> {
        let (watch, watching) = (self.watch.clone(), self.watching.clone());
        let (client, url) = (self.client.clone(), self.url.clone());
        tokio::spawn(async move {
            let request = request.ok_or("the bot does not listen")?;
            let asked = async {
                let answer = request.send().await?;
                Ok::<_, reqwest::Error>((answer.status().as_u16(), answer.json::<Value>().await?))
            };
            let answer = timeout(TIMEOUT, asked)
                .await
                .map_err(|_| "no answer in time")?;
            let answer = answer.map_err(|error| format!("{error:?}"))?;
            watching.spawn(watch.follow(client, url.unwrap_or_default(), answer.1.clone()));
            Ok(answer)
        })
    }

    /// Reads a page or a finished stream.
    pub async fn read(&self, path: &str) -> String {
        let url = format!("{}{path}", self.url.as_deref().expect("the bot listens"));
        let request = self.client.get(url).bearer_auth(secrets::DASHBOARD);
        let text = async { request.send().await.unwrap().text().await.unwrap() };
        timeout(TIMEOUT, text).await.expect("an answer")
    }

    /// The address below which everything is; none when it died before it listened.
    pub fn url(&self) -> Option<&str> {
        self.url.as_deref()
    }

    /// Returns the bot's process id.
    pub fn pid(&self) -> u32 {
        self.child.id().expect("the bot runs")
    }

    /// Whether it has ended.
    pub fn is_dead(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits until it ends, and until everyone who watches it does.
    pub async fn ended(&mut self) -> ExitStatus {
        let ended = timeout(TIMEOUT, self.child.wait())
            .await
            .expect("the bot ends")
            .unwrap();
        self.watching.close();
        timeout(TIMEOUT, self.watching.wait())
            .await
            .expect("streams end with their bot");
        ended
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

    /// Returns standard error so far, which is complete once the process has exited.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).unwrap()).into_owned()
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
    timeout(TIMEOUT, polled).await.is_ok()
}
