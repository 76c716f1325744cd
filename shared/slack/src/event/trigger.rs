//! Which events are requests (docs/reference/slack.md#triggers).
//!
//! Participation is derived from the thread, never from memory, so a new process decides like the old one.
//! Not here: messages without an event, which a stopped process missed (`catch_up`).

use super::{
    message::{Bot, Message},
    payload::{Event, MessageKind},
};
use crate::Ts;

/// Maximum messages of a thread, its parent included, in which participation is looked for.
pub const PARTICIPATION_MAX_REPLIES: usize = 50;
/// The subtype of a message with files, which is an ordinary message otherwise.
const FILE_SHARE: &str = "file_share";

/// The effect of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// Nothing.
    Ignore(Ignored),
    /// A request.
    Handle {
        /// Thread of the reply.
        thread_ts: Ts,
    },
    /// A request if the bot [`participates`] in the thread.
    IfParticipating {
        /// Thread of the reply.
        thread_ts: Ts,
    },
}

/// Why an event is no request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ignored {
    /// A bot posted the message.
    Bot,
    /// The subtype is none of a person's message.
    Subtype,
    /// The message has no sender.
    NoSender,
    /// A post in a channel that does not mention the bot.
    ChannelPost,
    /// The message's own mention event is the request.
    MentionEvent,
    /// The event is no new message.
    NoMessage,
}

/// Decides about an event.
pub fn trigger(event: &Event, bot: &Bot) -> Trigger {
    let Event::Message { kind, message } = event else {
        return Trigger::Ignore(Ignored::NoMessage);
    };
    let thread_ts = message.thread();
    if let Some(ignored) = not_from_a_person(message, bot) {
        return Trigger::Ignore(ignored);
    }
    if message.is_direct() || *kind == MessageKind::Mention {
        Trigger::Handle { thread_ts }
    } else if !message.is_reply() {
        Trigger::Ignore(Ignored::ChannelPost)
    } else if message.mentions(bot) {
        Trigger::Ignore(Ignored::MentionEvent)
    } else {
        Trigger::IfParticipating { thread_ts }
    }
}

/// Returns why a message is no person's request, whatever its place.
pub(crate) fn not_from_a_person(message: &Message, bot: &Bot) -> Option<Ignored> {
    let subtype = message.subtype.as_deref();
    if message.is_from_bot() || message.is_by(bot) {
        Some(Ignored::Bot)
    } else if subtype.is_some_and(|subtype| subtype != FILE_SHARE) {
        Some(Ignored::Subtype)
    } else if message.user.is_none() {
        Some(Ignored::NoSender)
    } else {
        None
    }
}

/// Returns whether the bot posted or was mentioned in a thread, given oldest first.
pub fn participates(replies: &[Message], bot: &Bot) -> bool {
    let mut first = replies.iter().take(PARTICIPATION_MAX_REPLIES);
    first.any(|reply| reply.is_by(bot) || reply.mentions(bot))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn bot() -> Bot {
        Bot {
            user_id: "UB".into(),
            bot_id: "BB".into(),
        }
    }

    fn decide(mut event: Value) -> Trigger {
        for (name, value) in [
            ("type", "message"),
            ("channel", "C1"),
            ("user", "U1"),
            ("ts", "2.0"),
        ] {
            if event.get(name).is_none() {
                event[name] = value.into();
            }
        }
        trigger(&Event::parse(&json!({"event": event})), &bot())
    }

    #[test]
    fn each_kind_of_message_has_its_trigger() {
        let own = Trigger::Handle {
            thread_ts: Ts::parse("2.0").unwrap(),
        };
        let thread_ts = Ts::parse("1.0").unwrap();
        let ignore = Trigger::Ignore;
        for (event, expected) in [
            (json!({"text": "x"}), ignore(Ignored::ChannelPost)),
            (json!({"text": "<@UB> x"}), ignore(Ignored::ChannelPost)),
            (
                json!({"text": "x", "thread_ts": "2.0"}),
                ignore(Ignored::ChannelPost),
            ),
            (
                json!({"text": "x", "channel_type": "mpim"}),
                ignore(Ignored::ChannelPost),
            ),
            (
                json!({"text": "x", "thread_ts": "1.0"}),
                Trigger::IfParticipating { thread_ts },
            ),
            (
                json!({"text": "<@UB> x", "thread_ts": "1.0"}),
                ignore(Ignored::MentionEvent),
            ),
            (
                json!({"text": "<@U2> x", "thread_ts": "1.0"}),
                Trigger::IfParticipating { thread_ts },
            ),
            (json!({"type": "app_mention", "text": "<@UB> x"}), own),
            (
                json!({"type": "app_mention", "text": "x", "thread_ts": "1.0"}),
                Trigger::Handle { thread_ts },
            ),
            (json!({"channel_type": "im", "text": "x"}), own),
            (
                json!({"channel_type": "im", "text": "x", "thread_ts": "1.0"}),
                Trigger::Handle { thread_ts },
            ),
            (json!({"channel": "D1", "text": "<@UB> x"}), own),
            (json!({"channel": "D1", "subtype": "file_share"}), own),
            (
                json!({"channel": "D1", "subtype": "channel_join"}),
                ignore(Ignored::Subtype),
            ),
            (
                json!({"channel": "D1", "subtype": "thread_broadcast"}),
                ignore(Ignored::Subtype),
            ),
            (
                json!({"channel": "D1", "subtype": "bot_message"}),
                ignore(Ignored::Bot),
            ),
            (
                json!({"channel": "D1", "bot_id": "B2"}),
                ignore(Ignored::Bot),
            ),
            (
                json!({"channel": "D1", "bot_id": "B2", "subtype": "file_share"}),
                ignore(Ignored::Bot),
            ),
            (
                json!({"type": "app_mention", "bot_id": "B2", "text": "<@UB> x"}),
                ignore(Ignored::Bot),
            ),
            (json!({"channel": "D1", "user": "UB"}), ignore(Ignored::Bot)),
            (
                json!({"channel": "D1", "user": null}),
                ignore(Ignored::NoSender),
            ),
            (
                json!({"type": "reaction_added"}),
                ignore(Ignored::NoMessage),
            ),
            (
                json!({"subtype": "message_deleted", "deleted_ts": "1.0"}),
                ignore(Ignored::NoMessage),
            ),
        ] {
            assert_eq!(decide(event.clone()), expected, "{event}");
        }
    }

    #[test]
    fn participation_is_in_the_first_replies() {
        let read = |entry: Value| Message::read("C1", &entry).unwrap();
        let plain = || read(json!({"ts": "1.0", "user": "U1", "text": "x"}));
        for (entry, is_participating) in [
            (json!({"ts": "1.0", "user": "UB", "text": "x"}), true),
            (json!({"ts": "1.0", "bot_id": "BB", "text": "x"}), true),
            (
                json!({"ts": "1.0", "user": "U1", "text": "ask <@UB|ars>"}),
                true,
            ),
            (json!({"ts": "1.0", "bot_id": "B2", "text": "x"}), false),
            (
                json!({"ts": "1.0", "user": "U1", "text": "ask &lt;@UB&gt;"}),
                false,
            ),
        ] {
            let mut thread = vec![plain(); PARTICIPATION_MAX_REPLIES - 1];
            thread.push(read(entry.clone()));
            assert_eq!(participates(&thread, &bot()), is_participating, "{entry}");
            thread.insert(0, plain());
            assert!(!participates(&thread, &bot()));
        }
    }
}
