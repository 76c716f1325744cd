//! `--slack`: a person chats with the bot on the page of the rehearsal workspace.

use std::io::{BufRead, BufReader};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Up, data};

/// A request that the rehearsal knows, with the mention.
const MEND: &str = "@ars agent:coding repo:sample/tally The test suite fails. Mend it.";

/// The page's server, with the key from the link.
struct Page {
    base: String,
    key: String,
}

impl Page {
    fn open(ready: &Value) -> Self {
        let link = ready["slack"]["page"].as_str().unwrap();
        let (base, key) = link.split_once('#').unwrap();
        let (base, key) = (base.to_owned(), key.to_owned());
        Self { base, key }
    }

    fn say(&self, channel: &str, text: &str) {
        let body = json!({ "channel": channel, "text": text }).to_string();
        let request = ureq::post(format!("{}page/say", self.base));
        request.header("x-page-key", &self.key).send(body).unwrap();
    }

    /// Waits until the bot hears what is said: the workspace keeps nothing for later.
    fn wait_for_bot(&self) {
        self.wait_until(|state| state["isConnected"].as_bool().filter(|is| *is));
    }

    /// Waits for a message in a channel that fits, and returns it.
    fn wait_for(&self, channel: &str, fits: impl Fn(&Value) -> bool) -> Value {
        self.wait_until(|state| {
            let mut channels = state["channels"].as_array().unwrap().iter();
            let channel = channels.find(|one| one["id"] == channel).unwrap();
            let mut messages = channel["messages"].as_array().unwrap().iter();
            messages.find(|message| fits(message)).cloned()
        })
    }

    /// Follows the page until its state has what is looked for, and returns that.
    fn wait_until<T>(&self, find: impl Fn(&Value) -> Option<T>) -> T {
        let changes = format!("{}page/changes?key={}", self.base, self.key);
        let answer = ureq::get(changes).call().unwrap();
        let lines = BufReader::new(answer.into_body().into_reader()).lines();
        for line in lines.map_while(Result::ok) {
            let Some(state) = line.strip_prefix("data: ") else {
                continue;
            };
            let state: Value = serde_json::from_str(state).unwrap();
            if let Some(found) = find(&state) {
                return found;
            }
        }
        panic!("the workspace ended");
    }
}

#[test]
fn person_chats_on_the_page() {
    let data = data();
    let arguments = ["--store", "embedded", "--no-demo", "--slack"];
    let mut up = Up::start(data.path(), &arguments);
    let shown = up.output_until("Serving until Ctrl-C");
    let ready = up.ready();
    let page = Page::open(&ready);
    let link = ready["slack"]["page"].as_str().unwrap();
    assert!(shown.contains(&format!("  chat      {link}")), "{shown}");
    let has = |part: &'static str| {
        move |message: &Value| {
            let text = message["text"].as_str().unwrap();
            message["bot_id"].is_string() && text.contains(part)
        }
    };
    page.wait_for_bot();
    page.say("D0ADA", "help");
    page.wait_for("D0ADA", has("`coding`"));
    page.say("C0GENERAL", MEND);
    let reply = page.wait_for("C0GENERAL", has("Draft pull request #1"));
    assert!(reply["thread_ts"].is_string(), "{reply}");
    let card = page.wait_for("C0GENERAL", has("done"));
    let block = card["blocks"][0]["block_id"].as_str().unwrap();
    assert!(block.starts_with("ars-card:"), "{card}");
    up.signal(Signal::TERM);
    let (status, said) = up.end();
    assert!(status.success(), "{said}");
    let log = std::fs::read_to_string(data.path().join("bot.log")).unwrap();
    assert!(!log.contains("xoxb-") && !log.contains(&page.key));
}
