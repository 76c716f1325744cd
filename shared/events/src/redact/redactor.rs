//! Redacts a text.

use std::borrow::Cow;

use super::{assignments, control::strip_controls, placeholder::PLACEHOLDER, shapes};
use crate::summary::cap;

/// Minimum length of a configured secret: shorter secrets occur in ordinary text by accident.
const KNOWN_MIN: usize = 6;
/// Minimum length of a line in a configured secret that is searched alone. It protects a key that
/// is read line by line. Shorter lines are braces and names that occur in any file.
const KNOWN_LINE_MIN: usize = 16;
/// Prefix of a key's first and last lines, which are not secret.
const KEY_FRAME: &str = "-----";
/// Maximum number of rounds. Removing a secret can expose another (the password in a URL that a
/// named value ran into), so rounds continue until nothing changes. Each is linear, and ordinary
/// text needs two.
const ROUNDS_MAX: usize = 4;

/// Redacts by shape, by name, and by configured secret values.
///
/// Has no `Debug`, because it holds secrets.
#[derive(Clone, Default)]
pub struct Redactor {
    /// Longest first, so that a secret which contains another is replaced whole.
    known: Vec<String>,
}

impl Redactor {
    /// Returns a redactor that also knows these secrets and the lines of multi-line secrets.
    /// Secrets shorter than 6 characters are ignored.
    pub fn new(known: impl IntoIterator<Item = String>) -> Self {
        let forms = known.into_iter().flat_map(|secret| {
            let lines: Vec<_> = long_lines(&secret).flat_map(shown_forms).collect();
            shown_forms(&secret).into_iter().chain(lines)
        });
        let mut forms: Vec<String> = forms.collect();
        forms.retain(|form| {
            form.chars().count() >= KNOWN_MIN && !PLACEHOLDER.contains(form.as_str())
        });
        forms.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        forms.dedup();
        Self { known: forms }
    }

    /// Replaces all secrets in the text.
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

    /// Replaces configured secrets only.
    /// Text that merely looks like a secret stays, so that code can be read and edited.
    pub fn hide_known<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.known.iter().fold(Cow::Borrowed(text), |text, secret| {
            match text.contains(secret) {
                true => Cow::Owned(text.replace(secret, PLACEHOLDER)),
                false => text,
            }
        })
    }

    /// Removes control sequences and secrets, then cuts the text to `cap_chars` characters.
    pub fn clean(&self, text: &str, cap_chars: usize) -> String {
        let stripped = strip_controls(text);
        cap(&self.redact(&stripped), cap_chars).into_owned()
    }

    /// Cleans a text that belongs to a name, which may mark it as a secret.
    pub fn clean_named(&self, name: &str, text: &str, cap_chars: usize) -> String {
        if assignments::is_secret_name(name) && !text.is_empty() {
            return cap(PLACEHOLDER, cap_chars).into_owned();
        }
        self.clean(text, cap_chars)
    }

    fn redact_once<'a>(&self, text: &'a str) -> Cow<'a, str> {
        then(
            then(self.hide_known(text), shapes::redact_shapes),
            assignments::redact_assignments,
        )
    }

    /// Cleans a text without cutting it.
    pub(super) fn clean_in_place(&self, text: &mut String) {
        let stripped = strip_controls(text);
        let cleaned = then(stripped, |text| self.redact(text));
        if let Cow::Owned(cleaned) = cleaned {
            *text = cleaned;
        }
    }
}

/// Redacts without configured secrets; see `Redactor::redact`.
pub fn redact(text: &str) -> Cow<'_, str> {
    Redactor::default().redact(text)
}

/// Cleans without configured secrets; see `Redactor::clean`.
pub fn clean(text: &str, cap_chars: usize) -> String {
    Redactor::default().clean(text, cap_chars)
}

/// Returns a multi-line secret's lines that are long enough to be searched.
fn long_lines(secret: &str) -> impl Iterator<Item = &str> {
    let lines = secret.trim().lines().map(str::trim);
    lines.filter(|line| line.chars().count() >= KNOWN_LINE_MIN && !line.starts_with(KEY_FRAME))
}

/// Returns how a secret may look in shown text: without control characters, and as inside JSON.
fn shown_forms(secret: &str) -> Vec<String> {
    let stripped = strip_controls(secret);
    let plain = stripped.trim();
    let quoted = serde_json::Value::from(plain).to_string();
    let escaped = &quoted[1..quoted.len() - 1];
    vec![plain.to_owned(), escaped.to_owned()]
}

/// Applies a step to the text; a borrowed result means that the step changed nothing.
fn then<'a>(text: Cow<'a, str>, step: impl Fn(&str) -> Cow<'_, str>) -> Cow<'a, str> {
    match step(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(changed) => Cow::Owned(changed),
    }
}
