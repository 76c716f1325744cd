//! Fields in a `tracing` event or span, redacted as they are read.
//!
//! Only this module and `spans` see values before redaction.

use std::fmt::{self, Write as _};

use ars_events::Redactor;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};

/// Maximum characters in a field; longer texts belong into a run's stream.
const FIELD_MAX: usize = 4_000;

/// Reads fields into an object.
pub(crate) struct Fields<'a> {
    redactor: &'a Redactor,
    read: Map<String, Value>,
}

impl<'a> Fields<'a> {
    /// Returns the redacted fields that `record` records.
    pub(crate) fn read(
        redactor: &'a Redactor,
        record: impl FnOnce(&mut dyn Visit),
    ) -> Map<String, Value> {
        let mut fields = Self {
            redactor,
            read: Map::new(),
        };
        record(&mut fields);
        fields.read
    }

    fn text(&mut self, field: &Field, text: &str) {
        let clean = self.redactor.clean_named(field.name(), text, FIELD_MAX);
        self.read
            .insert(field.name().to_owned(), Value::from(clean));
    }

    /// Redacts a number: a configured secret that has only digits is secret in any type.
    fn number(&mut self, field: &Field, number: Value) {
        let text = number.to_string();
        let value = if self.redactor.redact(&text) == text {
            number
        } else {
            Value::from(ars_events::PLACEHOLDER)
        };
        self.read.insert(field.name().to_owned(), value);
    }
}

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.text(field, &format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.text(field, value);
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        let mut text = value.to_string();
        let mut source = value.source();
        while let Some(error) = source {
            // Writing to a string cannot fail.
            let _ = write!(text, ": {error}");
            source = error.source();
        }
        self.text(field, &text);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.read
            .insert(field.name().to_owned(), Value::from(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.number(field, Value::from(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.number(field, Value::from(value));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.number(field, Value::from(value));
    }
}
