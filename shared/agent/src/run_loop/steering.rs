//! Messages for a live run: kept until a step boundary (docs/reference/ingress.md#admission).
//!
//! Not here: who may steer, and unread messages (`Loop::unconsumed`).

use ars_events::{AttachedFile, EventBody, InputSource, NoteKind};
use serde::{Deserialize, Serialize};

use crate::{
    Part,
    context::{estimate_parts, estimate_text},
};

/// Before messages that arrived while the model worked.
const WHILE_WORKING: &str = "New from the thread while you were working; take it into account:";
/// Precedes messages that arrived while the model wrote the final answer.
const WHILE_ANSWERING: &str = "Note from the service: your last answer was not delivered, because something new came \
    from the thread while you wrote it. Do what it asks for, then write one complete answer: nobody has seen the one before.";

/// A message for a run under way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Steered {
    /// The message's number in the run's durable inbox; absent when it is not stored there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The message's text, without attachments.
    pub text: String,
    /// The files with it as parts, and texts about them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Part>,
    /// These files, for the event.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<AttachedFile>,
    /// The message's origin, for the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<InputSource>,
}

/// The text before the messages for the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrived {
    /// They arrived with a turn's results.
    WhileWorking,
    /// They prevented an answer's delivery.
    WhileAnswering,
}

/// Messages that the model has not received.
#[derive(Debug, Clone, Default)]
pub(super) struct Inbox {
    waiting: Vec<Steered>,
    /// The highest known durable number. The durable inbox may offer a message more than once.
    seen: u64,
    /// The highest durable number that the model received.
    consumed: u64,
}

impl Inbox {
    /// Restores a resumed run's inbox, with the last consumed number and the run's own messages.
    pub(super) fn restore(consumed: u64, waiting: Vec<Steered>) -> Self {
        Self {
            waiting,
            seen: consumed,
            consumed,
        }
    }

    pub(super) fn take(&mut self, messages: Vec<Steered>) {
        for message in messages {
            match message.seq {
                Some(seq) if seq <= self.seen => continue,
                Some(seq) => self.seen = seq,
                None => {}
            }
            self.waiting.push(message);
        }
    }

    pub(super) fn waiting(&self) -> &[Steered] {
        &self.waiting
    }

    pub(super) fn consumed(&self) -> u64 {
        self.consumed
    }

    /// Estimates the tokens in the waiting messages.
    pub(super) fn tokens(&self) -> u64 {
        let tokens =
            |message: &Steered| estimate_text(&message.text) + estimate_parts(&message.attachments);
        self.waiting.iter().map(tokens).sum()
    }

    /// Returns the events and parts for all waiting messages, if there are any.
    pub(super) fn hand_over(&mut self, arrived: Arrived) -> Option<(Vec<EventBody>, Vec<Part>)> {
        if self.waiting.is_empty() {
            return None;
        }
        let messages = std::mem::take(&mut self.waiting);
        self.consumed = messages
            .iter()
            .filter_map(|message| message.seq)
            .fold(self.consumed, u64::max);
        let events = messages.iter().flat_map(events).collect();
        let mut parts = vec![Part::text(told(&messages, arrived))];
        parts.extend(messages.into_iter().flat_map(|message| message.attachments));
        Some((events, parts))
    }
}

impl Steered {
    /// Returns the message for a step record, which has no room for files. A note replaces each.
    pub(super) fn without_content(&self) -> Self {
        let mut message = self.clone();
        for part in &mut message.attachments {
            if let Part::Image { media_type, .. } | Part::Document { media_type, .. } = part {
                *part = Part::text(format!(
                    "[Note from the service: a file ({media_type}) was here. The run continues in another process, \
                     which has no copy of it. Ask for it again if it is needed.]"
                ));
            }
        }
        message
    }
}

fn events(message: &Steered) -> [EventBody; 2] {
    let (files, source) = (message.files.clone(), message.source.clone());
    [
        EventBody::input(&message.text, files, source),
        EventBody::note(NoteKind::FollowUp, "a follow-up was handed to the model"),
    ]
}

fn told(messages: &[Steered], arrived: Arrived) -> String {
    let lead = match arrived {
        Arrived::WhileWorking => WHILE_WORKING,
        Arrived::WhileAnswering => WHILE_ANSWERING,
    };
    match messages {
        [message] => format!("{lead}\n\n{}", message.text),
        messages => {
            // Further lines in a bullet are indented, so that the message stays a single bullet.
            let bullets = messages
                .iter()
                .map(|message| format!("- {}", message.text.replace('\n', "\n  ")));
            format!("{lead}\n\n{}", bullets.collect::<Vec<_>>().join("\n"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(seq: u64, text: &str) -> Steered {
        Steered {
            seq: Some(seq),
            text: text.into(),
            attachments: Vec::new(),
            files: Vec::new(),
            source: None,
        }
    }

    #[test]
    fn several_messages_become_bullets_and_attachments() {
        let mut inbox = Inbox::default();
        let image = Part::Image {
            media_type: "image/png".into(),
            data: "A".into(),
        };
        let with_image = Steered {
            attachments: vec![image.clone()],
            files: vec![AttachedFile {
                name: "a.png".into(),
                media_type: "image/png".into(),
                bytes: 1,
            }],
            ..message(1, "one\nmore")
        };
        inbox.take(vec![with_image, message(4, "two")]);
        let (events, parts) = inbox.hand_over(Arrived::WhileWorking).unwrap();
        assert_eq!(
            parts[0],
            Part::text(format!("{WHILE_WORKING}\n\n- one\n  more\n- two"))
        );
        assert_eq!(parts[1..], [image]);
        let EventBody::Input { text, .. } = &events[0] else {
            panic!("{events:?}")
        };
        assert_eq!(
            (text.as_str(), events.len()),
            ("one\nmore (+1 attachment)", 4)
        );
        assert_eq!(
            (inbox.consumed(), inbox.hand_over(Arrived::WhileWorking)),
            (4, None)
        );
    }

    #[test]
    fn repeated_durable_message_is_ignored() {
        let mut inbox = Inbox::restore(2, Vec::new());
        inbox.take(vec![message(1, "a"), message(2, "b"), message(3, "c")]);
        inbox.take(vec![message(3, "c")]);
        assert_eq!(inbox.waiting(), [message(3, "c")]);
        assert_eq!(inbox.consumed(), 2);
        inbox.hand_over(Arrived::WhileAnswering);
        inbox.take(vec![message(3, "c")]);
        assert_eq!((inbox.waiting().len(), inbox.consumed()), (0, 3));
    }

    #[test]
    fn messages_that_are_not_durable_are_all_taken() {
        let mut inbox = Inbox::default();
        let volatile = Steered {
            seq: None,
            ..message(0, "a")
        };
        inbox.take(vec![volatile.clone(), volatile]);
        assert_eq!((inbox.waiting().len(), inbox.consumed()), (2, 0));
    }
}
