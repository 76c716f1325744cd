//! The value of both buttons: the command, its requester, and its place.

use serde::{Deserialize, Serialize};

use crate::Ts;

/// Maximum bytes of a value. Slack allows this number of characters.
pub const VALUE_MAX_BYTES: usize = 2_000;
/// Version of the value. A value of another version is of another release.
const VERSION: u32 = 1;
/// Characters that Slack encodes in some fields, as escapes of JSON that it leaves alone.
const MARKUP: [(char, &str); 3] = [('&', "\\u0026"), ('<', "\\u003c"), ('>', "\\u003e")];

/// A command that waits for its requester.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfirmValue {
    /// The requester's user id.
    pub user: String,
    /// The message with the command.
    pub ts: Ts,
    /// Its thread.
    pub thread: Ts,
    /// The text that runs the command.
    pub text: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    v: u32,
    user: String,
    ts: String,
    thread: String,
    text: String,
}

impl ConfirmValue {
    /// Returns the button's value, or `None` if the command is too long for it.
    pub fn to_text(&self) -> Option<String> {
        let stored = Stored {
            v: VERSION,
            user: self.user.clone(),
            ts: self.ts.to_string(),
            thread: self.thread.to_string(),
            text: self.text.clone(),
        };
        let mut text = serde_json::to_string(&stored).ok()?;
        for (plain, escape) in MARKUP {
            text = text.replace(plain, escape);
        }
        (text.len() <= VALUE_MAX_BYTES).then_some(text)
    }

    /// Parses a button's value. Returns `None` for anything that [`Self::to_text`] does not make.
    pub fn parse(text: &str) -> Option<Self> {
        let stored: Stored = serde_json::from_str(text).ok()?;
        let value = Self {
            ts: Ts::parse(&stored.ts)?,
            thread: Ts::parse(&stored.thread)?,
            user: stored.user,
            text: stored.text,
        };
        let is_whole = !value.user.is_empty() && !value.text.trim().is_empty();
        (stored.v == VERSION && is_whole && value.to_text().as_deref() == Some(text))
            .then_some(value)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn value(text: &str) -> ConfirmValue {
        ConfirmValue {
            user: "U1".into(),
            ts: Ts::parse("2.000100").unwrap(),
            thread: Ts::parse("1.5").unwrap(),
            text: text.into(),
        }
    }

    #[test]
    fn long_command_has_no_value() {
        let room = VALUE_MAX_BYTES - value("").to_text().unwrap().len();
        assert!(value(&"x".repeat(room)).to_text().is_some());
        assert_eq!(value(&"x".repeat(room + 1)).to_text(), None);
        // Slack counts the escapes too.
        assert_eq!(value(&"\"".repeat(room / 2 + 1)).to_text(), None);
    }

    #[test]
    fn other_values_are_rejected() {
        let good = value("repo offboard acme/app").to_text().unwrap();
        for (from, to) in [
            ("\"v\":1", "\"v\":2"),
            ("\"v\":1,", ""),
            ("\"v\":1,", "\"v\":1,\"x\":0,"),
            ("\"v\":1,", "\"v\":1, "),
            ("\"U1\"", "\"\""),
            ("\"U1\"", "null"),
            ("\"1.5\"", "\"x\""),
            ("\"2.000100\"", "2.0001"),
            ("repo offboard acme/app", " \\n"),
            ("repo", "\\u0072epo"),
        ] {
            let bad = good.replacen(from, to, 1);
            assert_ne!(bad, good);
            assert_eq!(ConfirmValue::parse(&bad), None, "{bad}");
        }
        for bad in ["", "r1", "[]", "{}", "null"] {
            assert_eq!(ConfirmValue::parse(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_command_is_read_back(text in "\\PC{1,200}|[\"\\\\\n<&]{1,40}x") {
            prop_assume!(!text.trim().is_empty());
            let value = value(&text);
            prop_assert_eq!(ConfirmValue::parse(&value.to_text().unwrap()), Some(value));
        }
    }
}
