//! A call's arguments, from a form, a query or JSON, as Slack reads them.

use std::borrow::Cow;

use axum::http::{HeaderMap, header};
use serde_json::{Map, Value};

use super::api::Answer;

/// Arguments that are JSON even within a form.
const NESTED: [&str; 6] = [
    "blocks",
    "attachments",
    "metadata",
    "chunks",
    "files",
    "loading_messages",
];

/// The arguments of one call.
#[derive(Debug, Clone, Default)]
pub(super) struct Arguments {
    fields: Map<String, Value>,
    /// The token, from the header or a form field.
    pub(super) token: Option<String>,
    is_broken_json: bool,
}

impl Arguments {
    /// Reads a request. A method that reads forms only ignores a JSON body.
    pub(super) fn read(query: &str, headers: &HeaderMap, body: &[u8], takes_json: bool) -> Self {
        let mut read = Self::default();
        read.form(query);
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let media_type = text(header::CONTENT_TYPE).unwrap_or_default();
        if !media_type.starts_with("application/json") {
            read.form(&String::from_utf8_lossy(body));
        } else if takes_json && !body.is_empty() {
            match serde_json::from_slice(body) {
                Ok(Value::Object(fields)) => read.fields.extend(fields),
                _ => read.is_broken_json = true,
            }
        }
        let bearer = text(header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
        let field = read.fields.shift_remove("token");
        read.token = bearer
            .map(str::to_owned)
            .or_else(|| Some(field?.as_str()?.to_owned()));
        read
    }

    fn form(&mut self, pairs: &str) {
        for (name, value) in form_urlencoded::parse(pairs.as_bytes()) {
            self.fields.insert(name.into_owned(), value.into());
        }
    }

    /// Returns the arguments with nested JSON parsed, for tests.
    pub(super) fn recorded(&self) -> Value {
        let mut fields = self.fields.clone();
        for name in NESTED {
            if let Some(Value::String(text)) = fields.get(name)
                && let Ok(parsed) = serde_json::from_str(text)
            {
                fields.insert(name.to_owned(), parsed);
            }
        }
        Value::Object(fields)
    }

    /// Returns an argument's text; empty ones count as absent.
    pub(super) fn text(&self, name: &str) -> Option<Cow<'_, str>> {
        match self.fields.get(name)? {
            Value::String(text) if text.is_empty() => None,
            Value::String(text) => Some(Cow::Borrowed(text)),
            Value::Number(number) => Some(Cow::Owned(number.to_string())),
            Value::Bool(flag) => Some(Cow::Owned(flag.to_string())),
            _ => None,
        }
    }

    /// Returns whether an argument is true.
    pub(super) fn flag(&self, name: &str) -> bool {
        matches!(self.text(name).as_deref(), Some("true" | "1"))
    }

    /// Returns whether an argument was sent, empty or not.
    pub(super) fn has(&self, name: &str) -> bool {
        self.fields.get(name).is_some_and(|value| !value.is_null())
    }

    /// Returns an argument's text.
    ///
    /// # Errors
    /// Returns the answer to a call without it.
    pub(super) fn required(&self, name: &str) -> Result<String, Answer> {
        let found = self.text(name).map(Cow::into_owned);
        found.ok_or_else(|| Answer::missing(name))
    }

    /// Returns an argument as JSON; null if it is absent.
    ///
    /// # Errors
    /// Returns the answer to text that is no JSON, with this code.
    pub(super) fn json(&self, name: &str, code: &str) -> Result<Value, Answer> {
        match self.fields.get(name) {
            None => Ok(Value::Null),
            Some(Value::String(text)) if text.is_empty() => Ok(Value::Null),
            Some(Value::String(text)) => {
                serde_json::from_str(text).map_err(|_| Answer::error(code))
            }
            Some(value) => Ok(value.clone()),
        }
    }

    /// Returns the answer to a body that claims to be JSON and is not.
    pub(super) fn check(&self) -> Result<(), Answer> {
        if self.is_broken_json {
            return Err(Answer::error("invalid_json"));
        }
        Ok(())
    }
}
