//! Messages that arrived while no process was connected (docs/reference/slack.md#catch-up).
//!
//! Everything is derived from the channel: a message is handled if the bot answered after it, or marked it a moment
//! ago. Not here: the calls that read the channels.

use ars_types::UnixMillis;

use crate::{
    Ts,
    event::{Bot, Message, not_from_a_person, participates},
};

/// Emoji of the bot's receipt.
pub const RECEIPT: &str = "eyes";
/// Age up to which missed messages are handled, in minutes, unless the configuration names another.
pub const WINDOW_DEFAULT_MINUTES: u32 = 30;
/// Shortest window that covers a deploy, in minutes. A shorter one is a warning.
pub const WINDOW_MIN_MINUTES: u32 = 20;
/// Messages of a page of history.
pub const PAGE_MAX_MESSAGES: u32 = 200;
/// Pages of a channel's history.
pub const CHANNEL_MAX_PAGES: u32 = 5;
/// Age of a thread's parent up to which its new replies are found.
pub const PARENT_MAX_AGE_MS: i64 = 7 * 24 * 60 * 60 * 1000;
/// Channels, and threads, that are read at once.
pub const MAX_CONCURRENT_READS: usize = 4;
/// Activity of a thread up to which its orphaned cards are found.
pub const CARD_MAX_AGE_MS: i64 = 2 * 60 * 60 * 1000;
/// Age up to which a receipt alone shows that another process handles the message.
pub const RECEIPT_MAX_AGE_MS: i64 = 30 * 1000;
/// Age from which a delivery may be a repetition, for which the thread is read.
pub const LATE_MIN_AGE_MS: i64 = 60 * 1000;

/// The time in which missed messages are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Now.
    pub now: UnixMillis,
    /// Length in minutes.
    pub minutes: u32,
}

impl Window {
    /// Returns the start.
    pub fn since(self) -> Ts {
        Ts::from_millis(self.now.saturating_sub(i64::from(self.minutes) * 60 * 1000))
    }

    /// Returns from when on a channel's history is read.
    pub fn parents_since(self) -> Ts {
        let oldest = Ts::from_millis(self.now.saturating_sub(PARENT_MAX_AGE_MS));
        oldest.min(self.since())
    }

    /// Returns whether a thread of the history can have missed messages, so that its replies are read.
    pub fn concerns(self, parent: &Message) -> bool {
        parent.ts >= self.since() || parent.latest_reply.is_some_and(|at| at >= self.since())
    }

    /// Returns a thread's missed requests, oldest first.
    ///
    /// `thread` is its parent with the replies, oldest first.
    pub fn missed<'a>(self, thread: &'a [Message], bot: &Bot) -> Vec<&'a Message> {
        let participates = participates(thread, bot);
        let is_request = |message: &Message| {
            let is_addressed =
                message.mentions(bot) || message.is_direct() || message.is_reply() && participates;
            is_addressed && not_from_a_person(message, bot).is_none()
        };
        let recent = thread.iter().filter(|message| message.ts >= self.since());
        let mut missed: Vec<_> = recent
            .filter(|message| is_request(message))
            .filter(|message| !is_handled(message, thread, bot, self.now))
            .collect();
        missed.sort_by_key(|message| message.ts);
        missed
    }
}

/// Returns whether the bot posted after a message, or marked it less than 30 seconds ago.
pub fn is_handled(message: &Message, thread: &[Message], bot: &Bot, now: UnixMillis) -> bool {
    let age = now.saturating_sub(message.ts.millis());
    let is_marked = message.has_reaction(RECEIPT, &bot.user_id) && age < RECEIPT_MAX_AGE_MS;
    is_marked || is_answered(message.ts, thread, bot)
}

/// Returns whether the bot posted in the thread after a message.
pub fn is_answered(ts: Ts, thread: &[Message], bot: &Bot) -> bool {
    thread.iter().any(|reply| reply.ts > ts && reply.is_by(bot))
}

/// Returns whether a delivery is so late that its thread shows whether it is a repetition.
pub fn is_late(ts: Ts, now: UnixMillis) -> bool {
    now.saturating_sub(ts.millis()) > LATE_MIN_AGE_MS
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const NOW: UnixMillis = 1_700_000_000_000;
    const MINUTE: i64 = 60_000;

    fn bot() -> Bot {
        Bot {
            user_id: "UB".into(),
            bot_id: "BB".into(),
        }
    }

    /// A message so many milliseconds ago, in the thread of another if that is older.
    fn message(ago: i64, thread_ago: i64, fields: &Value) -> Message {
        let mut entry = json!({"user": "U1", "text": "x", "ts": Ts::from_millis(NOW - ago)});
        if thread_ago > 0 {
            entry["thread_ts"] = json!(Ts::from_millis(NOW - thread_ago));
        }
        for (name, value) in fields.as_object().unwrap() {
            entry[name] = value.clone();
        }
        Message::read("C1", &entry).unwrap()
    }

    fn window() -> Window {
        Window {
            now: NOW,
            minutes: WINDOW_DEFAULT_MINUTES,
        }
    }

    /// Ages of the missed messages in minutes.
    fn missed(thread: &[Message]) -> Vec<i64> {
        let missed = window().missed(thread, &bot());
        missed
            .iter()
            .map(|message| (NOW - message.ts.millis()) / MINUTE)
            .collect()
    }

    #[test]
    fn message_is_handled_by_an_answer_or_a_new_receipt() {
        let eyes = json!({"reactions": [{"name": "eyes", "users": ["UB"]}]});
        let other = json!({"reactions": [{"name": "eyes", "users": ["U2"]}, {"name": "tada", "users": ["UB"]}]});
        let reply = |ago, user: &str| message(ago, 40_000, &json!({"user": user}));
        for (message, replies, expected) in [
            (message(40_000, 0, &json!({})), vec![], false),
            (
                message(40_000, 0, &json!({})),
                vec![reply(10_000, "UB")],
                true,
            ),
            (
                message(40_000, 0, &json!({})),
                vec![reply(10_000, "U2")],
                false,
            ),
            (
                message(20_000, 40_000, &json!({})),
                vec![reply(30_000, "UB")],
                false,
            ),
            (message(29_999, 0, &eyes), vec![], true),
            (message(30_000, 0, &eyes), vec![], false),
            (message(1_000, 0, &other), vec![], false),
        ] {
            assert_eq!(
                is_handled(&message, &replies, &bot(), NOW),
                expected,
                "{message:?}"
            );
        }
    }

    #[test]
    fn missed_requests_are_oldest_first_within_the_window() {
        let mention = || json!({"text": "<@UB> x"});
        let parent = |ago| message(ago * MINUTE, 0, &mention());
        let reply = |ago, fields: &Value| message(ago * MINUTE, 60 * MINUTE, fields);
        for (thread, expected) in [
            (vec![parent(10)], vec![10]),
            (vec![parent(31)], vec![]),
            (vec![message(10 * MINUTE, 0, &json!({}))], vec![]),
            (
                vec![message(10 * MINUTE, 0, &json!({"channel_type": "im"}))],
                vec![10],
            ),
            (
                vec![parent(60), reply(20, &json!({})), reply(10, &json!({}))],
                vec![20, 10],
            ),
            (
                vec![parent(60), reply(10, &json!({})), reply(20, &json!({}))],
                vec![20, 10],
            ),
            (
                vec![
                    parent(60),
                    reply(20, &json!({})),
                    reply(15, &json!({"user": "UB"})),
                    reply(10, &json!({})),
                ],
                vec![10],
            ),
            (
                vec![message(60 * MINUTE, 0, &json!({})), reply(20, &json!({}))],
                vec![],
            ),
            (
                vec![message(60 * MINUTE, 0, &json!({})), reply(20, &mention())],
                vec![20],
            ),
            (
                vec![
                    parent(60),
                    reply(20, &json!({"bot_id": "B2"})),
                    reply(10, &json!({"subtype": "channel_join"})),
                ],
                vec![],
            ),
        ] {
            assert_eq!(missed(&thread), expected, "{thread:?}");
        }
    }

    #[test]
    fn window_reads_threads_with_new_replies() {
        let with_reply = |ago: i64| {
            let latest = Ts::from_millis(NOW - ago * MINUTE);
            message(6 * 24 * 60 * MINUTE, 0, &json!({"latest_reply": latest}))
        };
        for (parent, expected) in [
            (message(30 * MINUTE, 0, &json!({})), true),
            (message(31 * MINUTE, 0, &json!({})), false),
            (with_reply(30), true),
            (with_reply(31), false),
        ] {
            assert_eq!(window().concerns(&parent), expected, "{parent:?}");
        }
        assert_eq!(window().parents_since().millis(), NOW - PARENT_MAX_AGE_MS);
        let long = Window {
            now: NOW,
            minutes: 8 * 24 * 60,
        };
        assert_eq!(long.parents_since(), long.since());
    }

    #[test]
    fn late_delivery_is_over_a_minute_old() {
        assert!(!is_late(Ts::from_millis(NOW - MINUTE), NOW));
        assert!(is_late(Ts::from_millis(NOW - MINUTE - 1), NOW));
    }
}
