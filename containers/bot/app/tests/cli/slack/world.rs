//! A fake workspace, a scripted model, and a machine that serves both.

use ars_testkit::{
    FakeAnthropic, Reply,
    slack::{Call, FakeMessage, FakeSlack},
};
use serde_json::Value;
use tokio::{process::Command, time::timeout};

use crate::support::{Machine, SERVE, Server, TIMEOUT, TcpGate, gated};

/// The channel that the bot is in.
pub const CHANNEL: &str = "C0GENERAL";
/// A member of the workspace.
pub const ADA: &str = "U0ADA";
/// How the id of a card's block or task begins.
const CARD: &str = "ars-card:";

/// A workspace with a service.
pub struct World {
    pub slack: FakeSlack,
    pub model: FakeAnthropic,
    pub machine: Machine,
}

impl World {
    pub async fn answering<const N: usize>(replies: [Reply; N]) -> Self {
        let model = FakeAnthropic::start().await;
        model.push(replies);
        Self {
            slack: FakeSlack::start().await,
            model,
            machine: Machine::new(),
        }
    }

    /// Returns the command of the service.
    pub fn command(&self, config: &str) -> Command {
        let config = self.machine.file("ars.toml", config);
        let mut ars = self.machine.ars_with(&self.model.url(), &SERVE);
        ars.env("SERVICE_CONFIG", config)
            .env("SLACK_BASE_URL", self.slack.url())
            .env("SLACK_BOT_TOKEN", self.slack.bot_token())
            .env("SLACK_APP_TOKEN", self.slack.app_token())
            .env("PUBLIC_BASE_URL", "https://agents.example");
        ars
    }

    /// Starts the service, and waits until it is connected and caught up.
    pub async fn serve(&self, config: &str) -> Server {
        self.started(self.command(config)).await
    }

    /// Starts the service with a model that answers once the gate is open: until then a run is live.
    pub async fn serve_gated(&self) -> (TcpGate, Server) {
        let (gate, url) = gated(&self.model.url()).await;
        let mut command = self.command("");
        command.env("ANTHROPIC_BASE_URL", url);
        (gate, self.started(command).await)
    }

    async fn started(&self, mut command: Command) -> Server {
        let server = Server::start(&mut command).await;
        server
            .health_when(|health| {
                health["slack"]["connected"] == true && health["catchUp"].is_object()
            })
            .await;
        server
    }

    /// Mentions the bot in the channel. Returns the message's id.
    pub fn mention(&self, text: &str) -> String {
        self.slack.say(
            CHANNEL,
            ADA,
            &format!("{} {text}", self.slack.mention()),
            None,
        )
    }

    /// Waits for a message of the bot in a thread that contains these words, cards aside.
    pub async fn replied(&self, channel: &str, thread: &str, words: &str) -> FakeMessage {
        let is_it = |message: &FakeMessage| {
            self.is_reply(message)
                && message.thread_ts.as_deref() == Some(thread)
                && message.text.contains(words)
        };
        let waited = timeout(TIMEOUT, self.slack.wait_for_message(channel, is_it)).await;
        waited
            .unwrap_or_else(|_| panic!("no {words:?} in {:#?}", self.slack.thread(channel, thread)))
    }

    /// Waits until the thread's only card contains these words, and returns it.
    pub async fn card(&self, thread: &str, words: &str) -> FakeMessage {
        let find = |slack: &FakeSlack| {
            let thread = slack.thread(CHANNEL, thread);
            let cards: Vec<_> = thread.into_iter().filter(is_card).collect();
            assert!(cards.len() <= 1, "{cards:#?}");
            cards.into_iter().find(|card| shown(card).contains(words))
        };
        let waited = self.slack.wait_until(|slack| find(slack).is_some());
        if timeout(TIMEOUT, waited).await.is_err() {
            panic!(
                "no card with {words:?} in {:#?}",
                self.slack.thread(CHANNEL, thread)
            );
        }
        find(&self.slack).unwrap()
    }

    /// Returns the bot's replies in a thread, without cards.
    pub fn replies(&self, thread: &str) -> Vec<String> {
        let thread = self.slack.thread(CHANNEL, thread);
        let replies = thread.into_iter().filter(|message| self.is_reply(message));
        replies.map(|message| message.text).collect()
    }

    fn is_reply(&self, message: &FakeMessage) -> bool {
        message.user == self.slack.bot_user() && !is_card(message)
    }

    /// Returns the methods that were called since this many calls.
    pub fn methods_since(&self, count: usize) -> Vec<String> {
        let calls = self.slack.calls().into_iter().skip(count);
        calls.map(|call: Call| call.method).collect()
    }
}

/// Returns whether a message is a card: a block or a task of it has the run's id.
pub fn is_card(message: &FakeMessage) -> bool {
    let shown = Value::from(message.shown_blocks()).to_string();
    shown.contains(CARD)
}

/// Returns everything that a card shows.
pub fn shown(card: &FakeMessage) -> String {
    format!("{} {}", card.text, Value::from(card.shown_blocks()))
}
