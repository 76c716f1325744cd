//! A fake workspace as a process, whose people write on command, for `cargo xtask bench chat`.
//!
//! `chat_load CHANNELS USERS` prints a line of JSON with the API's base and the tokens. For each
//! line `COUNT INTERVAL_MS UNTIL` on standard input, COUNT mentions are written, each in a thread of
//! its own, one in each interval. When all threads have their card (UNTIL is `card`) or their reply
//! (`reply`), a line of JSON names the microseconds from the mentions to the receipts, cards and
//! replies, and the replies that a thread has besides its first. It ends with its standard input.
#![expect(clippy::expect_used, reason = "a failure of a test tool ends it")]

use std::{collections::HashMap, io::BufRead as _, time::Duration};

use ars_testkit::slack::{Call, FakeChannel, FakeSlack, FakeUser};
use serde_json::{Value, json};
use tokio::time::{MissedTickBehavior, interval, sleep};

/// Interval at which the threads are looked at.
const LOOK: Duration = Duration::from_millis(200);
/// Longest wait for the last thread.
const LOOKS: u32 = 5 * 60 * 20;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut numbers = std::env::args().skip(1).map(|text| number(&text));
    let mut next = || numbers.next().expect("usage: chat_load CHANNELS USERS");
    let people = People {
        slack: FakeSlack::start().await,
        channels: next(),
        users: next(),
    };
    people.settle();
    let slack = &people.slack;
    println!(
        "{}",
        json!({ "url": slack.url(), "botToken": slack.bot_token(), "appToken": slack.app_token() })
    );
    slack.wait_for_connections(1).await;
    let mut written = 0;
    while let Some(line) = read_line().await {
        let words: Vec<_> = line.split(' ').collect();
        let [count, pause, until] = words[..] else {
            panic!("COUNT INTERVAL_MS UNTIL, not {line:?}");
        };
        let (count, pause) = (number(count), Duration::from_millis(number(pause)));
        let mentions = people.write(written..written + count, pause).await;
        written += count;
        println!("{}", people.answered(&mentions, until).await);
    }
}

fn number(text: &str) -> u64 {
    text.parse().expect("a number")
}

/// Reads without blocking the workspace.
async fn read_line() -> Option<String> {
    let read = || std::io::stdin().lock().lines().next();
    let line = tokio::task::spawn_blocking(read).await;
    line.expect("the reader ends").transpose().expect("a line")
}

/// A workspace with people in its channels.
struct People {
    slack: FakeSlack,
    channels: u64,
    users: u64,
}

impl People {
    fn settle(&self) {
        for n in 0..self.channels {
            let channel = FakeChannel::public(&channel(n), &format!("channel-{n}"));
            self.slack.add_channel(channel);
        }
        for n in 0..self.users {
            let name = format!("user{n}");
            self.slack
                .add_user(FakeUser::person(&user(n), &name, &name));
        }
    }

    /// Writes a mention in each interval. Returns their ids.
    async fn write(&self, numbers: std::ops::Range<u64>, pause: Duration) -> Vec<String> {
        let mut ticks = interval(pause.max(Duration::from_micros(1)));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        let mut mentions = Vec::new();
        for n in numbers {
            ticks.tick().await;
            let text = format!("{} work #chat{n}", self.slack.mention());
            let (channel, user) = (channel(n % self.channels), user(n % self.users));
            mentions.push(self.slack.say(&channel, &user, &text, None));
        }
        mentions
    }

    /// Waits until all threads have what they wait for. Returns the figures.
    async fn answered(&self, mentions: &[String], until: &str) -> Value {
        for _ in 0..LOOKS {
            sleep(LOOK).await;
            let threads = Threads::of(&self.slack.calls());
            let seen = match until {
                "card" => &threads.cards,
                _ => &threads.replies,
            };
            if mentions.iter().all(|ts| seen.contains_key(ts)) {
                return threads.figures(mentions);
            }
        }
        panic!("not every thread has its {until}");
    }
}

fn channel(n: u64) -> String {
    format!("C0LOAD{n}")
}

fn user(n: u64) -> String {
    format!("U0LOAD{n}")
}

/// When calls were made for threads, by the thread's id.
#[derive(Default)]
struct Threads {
    receipts: HashMap<String, u64>,
    cards: HashMap<String, u64>,
    replies: HashMap<String, u64>,
    repeated: u64,
}

impl Threads {
    fn of(calls: &[Call]) -> Self {
        let mut threads = Self::default();
        for call in calls.iter().filter(|call| call.error.is_none()) {
            let of = |name: &str| call.arguments[name].as_str().unwrap_or_default().to_owned();
            let first = match call.method.as_str() {
                "reactions.add" => threads.receipts.insert(of("timestamp"), call.at),
                "chat.postMessage" if call.arguments["blocks"].is_array() => {
                    threads.cards.insert(of("thread_ts"), call.at)
                }
                "chat.postMessage" => threads.replies.insert(of("thread_ts"), call.at),
                _ => None,
            };
            threads.repeated += u64::from(first.is_some());
        }
        threads
    }

    fn figures(&self, mentions: &[String]) -> Value {
        let since = |seen: &HashMap<String, u64>| -> Vec<u64> {
            let waits = mentions
                .iter()
                .filter_map(|ts| Some(seen.get(ts)?.saturating_sub(number(&ts.replace('.', "")))));
            waits.collect()
        };
        json!({
            "receipts": since(&self.receipts), "cards": since(&self.cards), "replies": since(&self.replies),
            "repeated": self.repeated,
        })
    }
}
