//! Removal of secrets from everything that is shown or stored.
//!
//! One order for all: strip control sequences, then redact, then cap (bot supplement section 10). A cap before
//! would cut a secret in half and leave a half that no shape matches.
//!
//! Not here: fencing of text from outside (`untrusted`).

mod assignments;
mod control;
mod events;
mod shapes;

use std::borrow::Cow;

use crate::{EventBody, summary::cap};

use control::strip_controls;

/// Stands for a secret. No part of it is a shape or a secret's name, so redacting twice changes nothing.
pub const PLACEHOLDER: &str = "[redacted]";
/// Shortest configured secret looked for as such: shorter ones occur in ordinary text by accident.
const KNOWN_MIN: usize = 6;
/// Shortest line of a configured secret looked for by itself: a key that is read or searched line by line is never shown
/// whole. Shorter ones are braces and names as they stand in any file.
const KNOWN_LINE_MIN: usize = 16;
/// How the first and the last line of a key begin, which are no secret.
const KEY_FRAME: &str = "-----";
/// Removing one secret can bring another into the open (the password of a URL that a named value ran into), so
/// rounds go on until nothing changes. Each is linear; a second is all that texts not made to provoke it need.
const ROUNDS_MAX: usize = 4;

/// Redaction by shape and name, and of the installation's own secrets, whatever they look like.
///
/// Has no `Debug`: it holds secrets.
#[derive(Clone, Default)]
pub struct Redactor {
    /// Longest first, so that a secret which contains another is replaced whole.
    known: Vec<String>,
}

impl Redactor {
    /// A redactor that also knows these secrets, and the lines of those that have several. Secrets shorter than 6
    /// characters are not looked for.
    pub fn new(known: impl IntoIterator<Item = String>) -> Self {
        let forms = known.into_iter().flat_map(|secret| {
            let lines: Vec<_> = long_lines(&secret).flat_map(shown_forms).collect();
            shown_forms(&secret).into_iter().chain(lines)
        });
        let mut forms: Vec<String> = forms.collect();
        forms.retain(|form| form.chars().count() >= KNOWN_MIN && !PLACEHOLDER.contains(form.as_str()));
        forms.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        forms.dedup();
        Self { known: forms }
    }

    /// The text without secrets.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for _ in 0..ROUNDS_MAX {
            match self.redact_once(&text) {
                Cow::Owned(changed) if changed != text => text = Cow::Owned(changed),
                Cow::Owned(_) | Cow::Borrowed(_) => break,
            }
        }
        text
    }

    /// The text without the installation's own secrets. Shapes and names stay, so that code which only looks like a secret
    /// can still be read and edited.
    pub fn hide_known<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.known.iter().fold(Cow::Borrowed(text), |text, secret| match text.contains(secret) {
            true => Cow::Owned(text.replace(secret, PLACEHOLDER)),
            false => text,
        })
    }

    /// The text without control sequences and secrets, at most `cap_chars` characters of it.
    pub fn clean(&self, text: &str, cap_chars: usize) -> String {
        let stripped = strip_controls(text);
        cap(&self.redact(&stripped), cap_chars).into_owned()
    }

    /// `clean` of a text that stands under a name, which may be what makes it a secret.
    pub fn clean_named(&self, name: &str, text: &str, cap_chars: usize) -> String {
        if assignments::is_secret_name(name) && !text.is_empty() {
            return cap(PLACEHOLDER, cap_chars).into_owned();
        }
        self.clean(text, cap_chars)
    }

    /// The event with every string cleaned, also inside `attrs`; commands and outputs are capped. Hand over whole
    /// texts, or texts capped after `clean`.
    #[must_use]
    pub fn redact_event(&self, body: EventBody) -> EventBody {
        events::redact_event(self, body)
    }

    fn redact_once<'a>(&self, text: &'a str) -> Cow<'a, str> {
        then(then(self.hide_known(text), shapes::redact_shapes), assignments::redact_assignments)
    }

    fn clean_in_place(&self, text: &mut String) {
        let stripped = strip_controls(text);
        let cleaned = then(stripped, |text| self.redact(text));
        if let Cow::Owned(cleaned) = cleaned {
            *text = cleaned;
        }
    }
}

/// `Redactor::redact` without knowledge of the installation's secrets.
pub fn redact(text: &str) -> Cow<'_, str> {
    Redactor::default().redact(text)
}

/// `Redactor::clean` without knowledge of the installation's secrets.
pub fn clean(text: &str, cap_chars: usize) -> String {
    Redactor::default().clean(text, cap_chars)
}

/// `Redactor::redact_event` without knowledge of the installation's secrets.
#[must_use]
pub fn redact_event(body: EventBody) -> EventBody {
    Redactor::default().redact_event(body)
}

/// The lines of a secret that has several, as far as each is one by itself.
fn long_lines(secret: &str) -> impl Iterator<Item = &str> {
    let lines = secret.trim().lines().map(str::trim);
    lines.filter(|line| line.chars().count() >= KNOWN_LINE_MIN && !line.starts_with(KEY_FRAME))
}

/// How a secret looks in shown text: as it is once control characters are stripped, and inside JSON.
fn shown_forms(secret: &str) -> Vec<String> {
    let stripped = strip_controls(secret);
    let plain = stripped.trim();
    let quoted = serde_json::Value::from(plain).to_string();
    let escaped = &quoted[1..quoted.len() - 1];
    vec![plain.to_owned(), escaped.to_owned()]
}

/// Applies a step; one that borrows has left the text alone.
fn then<'a>(text: Cow<'a, str>, step: impl Fn(&str) -> Cow<'_, str>) -> Cow<'a, str> {
    match step(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(changed) => Cow::Owned(changed),
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
