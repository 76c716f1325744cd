//! Requests in a fixed order, the visible state after each, and the acknowledged progress.

use std::sync::atomic::{AtomicU64, Ordering};

use ars_tests_workerd::{Client, TOKEN};
use serde_json::{Value, json};

use crate::records::STORE;

/// Requests in a fixed order.
pub trait Story {
    /// Returns the name, for failures.
    fn name(&self) -> &str;

    /// Returns how many requests there are.
    fn len(&self) -> u64;

    /// Returns a request's path and body, counted from 0.
    fn request(&self, nth: u64) -> (&'static str, Value);

    /// Returns the visible state after the first `done` requests.
    fn after(&self, done: u64) -> Value;
}

/// A story and how far it got.
pub struct Progress<S> {
    pub story: S,
    /// Requests known to be complete.
    pub done: u64,
    /// Whether another request may be complete.
    is_open: bool,
}

impl<S: Story> Progress<S> {
    /// Returns whether all requests are complete.
    pub fn is_whole(&self) -> bool {
        self.done == self.story.len()
    }
}

/// Sends stories in turn until the Worker is killed.
pub fn send_until_killed<S: Story>(
    client: &Client,
    count: &AtomicU64,
    story: impl Fn(u64) -> S,
) -> Vec<Progress<S>> {
    let mut stories = Vec::new();
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
        stories.push(Progress {
            story,
            done,
            is_open,
        });
        if is_open {
            break;
        }
    }
    stories
}

/// Returns `true` for a success, `false` once the Worker is killed; any other answer fails the test.
fn try_call(client: &Client, path: &str, mut body: Value) -> bool {
    body["storeKey"] = json!(STORE);
    let bearer = format!("Bearer {TOKEN}");
    let bytes = body.to_string();
    match client.try_send(
        "POST",
        path,
        &[("authorization", &bearer)],
        bytes.as_bytes(),
    ) {
        Ok(answer) => {
            assert_eq!(answer.status, 200, "{path}: {answer:?}");
            true
        }
        Err(_) => false,
    }
}

/// Compares each story with its visible state.
pub fn check<S: Story>(stories: &mut [Progress<S>], seen: impl Fn(&S) -> Value) {
    for progress in stories {
        let seen = seen(&progress.story);
        progress.check_state(&seen, S::after);
    }
}

impl<S: Story> Progress<S> {
    /// Fails unless the state is that after the acknowledged requests, or one more in flight. The
    /// state then settles whether the request in flight at the kill counts. Some requests do not
    /// change a view.
    pub fn check_state(&mut self, seen: &Value, after: impl Fn(&S, u64) -> Value) {
        let Self {
            story,
            done,
            is_open,
        } = self;
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
