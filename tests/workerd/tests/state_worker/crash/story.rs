//! Requests in a fixed order, what can be read after each, and how far they were acknowledged.

use std::sync::atomic::{AtomicU64, Ordering};

use ars_tests_workerd::{Client, TOKEN};
use serde_json::{Value, json};

use crate::records::STORE;

/// Requests in a fixed order.
pub trait Story {
    /// For failures.
    fn name(&self) -> &str;

    /// How many there are.
    fn len(&self) -> u64;

    /// The path and body of one, counted from 0.
    fn request(&self, nth: u64) -> (&'static str, Value);

    /// What can be read after the first `told` of them.
    fn after(&self, told: u64) -> Value;
}

/// A story as far as it was told.
pub struct Told<S> {
    pub story: S,
    /// Requests that are known to have been done.
    pub done: u64,
    /// Whether one more may have been.
    is_open: bool,
}

impl<S: Story> Told<S> {
    /// Whether it was told to its end.
    pub fn is_whole(&self) -> bool {
        self.done == self.story.len()
    }
}

/// Tells one story after the other until the Worker is gone.
pub fn tell<S: Story>(client: &Client, count: &AtomicU64, story: impl Fn(u64) -> S) -> Vec<Told<S>> {
    let mut told = Vec::new();
    for nth in 0.. {
        let story = story(nth);
        let acknowledged = |nth: &u64| {
            let (path, body) = story.request(*nth);
            let is_acknowledged = try_call(client, path, body);
            count.fetch_add(u64::from(is_acknowledged), Ordering::SeqCst);
            is_acknowledged
        };
        let done = (0..story.len()).take_while(acknowledged).count() as u64;
        let is_open = done < story.len();
        told.push(Told { story, done, is_open });
        if is_open {
            break;
        }
    }
    told
}

/// Whether it succeeded; not once the Worker is gone. Any answer but a success ends the test.
fn try_call(client: &Client, path: &str, mut body: Value) -> bool {
    body["storeKey"] = json!(STORE);
    let bearer = format!("Bearer {TOKEN}");
    let bytes = body.to_string();
    match client.try_send("POST", path, &[("authorization", &bearer)], bytes.as_bytes()) {
        Ok(answer) => {
            assert_eq!(answer.status, 200, "{path}: {answer:?}");
            true
        }
        Err(_) => false,
    }
}

/// Holds each story to what can be read of it.
pub fn check<S: Story>(told: &mut [Told<S>], seen: impl Fn(&S) -> Value) {
    for told in told {
        let seen = seen(&told.story);
        told.hold_to(&seen, S::after);
    }
}

impl<S: Story> Told<S> {
    /// Fails unless it shows what it should after the requests that are done, or after the one that was under way at
    /// the kill too; by what it shows, that is settled from then on. Of some requests a view shows nothing.
    pub fn hold_to(&mut self, seen: &Value, after: impl Fn(&S, u64) -> Value) {
        let Self { story, done, is_open } = self;
        if *is_open {
            let without = after(story, *done);
            let with = after(story, *done + 1);
            *done += u64::from(*seen != without);
            *is_open = without == with;
        }
        let expected = after(story, *done);
        let differs = |(part, expected): &(&String, &Value)| seen[part.as_str()] != **expected;
        if let Some((part, expected)) = expected.as_object().unwrap().iter().find(differs) {
            panic!(
                "{} after {done} requests: {part} is {}, not {expected}",
                story.name(),
                seen[part.as_str()]
            );
        }
    }
}
