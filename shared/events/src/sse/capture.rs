//! Reads a saved run: JSON lines, or its raw event stream as a client received it.
//!
//! More tolerant than `Decoder`, which follows the standard: a capture may be truncated anywhere,
//! and may begin with the response's head. Anything that is not an event is skipped and counted.

use serde_json::Value;

use super::{Decoder, Frame};

/// Line prefixes in an event stream.
const FIELDS: [&str; 5] = ["data:", "id:", "event:", "retry:", ":"];
/// The field that every stream with an event has.
const DATA: &str = "data:";

/// A run as it was saved.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Capture {
    /// Events in stream order.
    pub events: Vec<Value>,
    /// Number of lines or frames that are not events.
    pub skipped: usize,
    /// First and last `seq` that the server elided from the replay.
    pub elided: Option<(u64, u64)>,
    /// Time at which the agent stopped, if the stream contains it.
    pub finished_at: Option<i64>,
}

impl Capture {
    /// Parses a capture in either form.
    pub fn read(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        if is_stream(text) {
            Self::of_stream(text)
        } else {
            Self::of_lines(text)
        }
    }

    fn of_lines(text: &str) -> Self {
        let mut capture = Self::default();
        for line in lines(text).filter(|line| !line.trim().is_empty()) {
            capture.take(line);
        }
        capture
    }

    fn of_stream(text: &str) -> Self {
        let mut capture = Self::default();
        let mut decoder = Decoder::default();
        // The capture may end after the last event's data and before the blank line that ends the
        // frame.
        for bytes in [text.as_bytes(), b"\n\n"] {
            for frame in decoder.push(bytes) {
                capture.take_frame(&frame);
            }
        }
        capture
    }

    fn take_frame(&mut self, Frame { event, data, .. }: &Frame) {
        let Some(name) = event else {
            return self.take(data);
        };
        let payload: Value = serde_json::from_str(data).unwrap_or_default();
        match name.as_str() {
            "replay_elided" => {
                let seq = |field: &str| payload[field].as_u64();
                self.elided = seq("fromSeq").zip(seq("toSeq")).or(self.elided);
            }
            "finished" => self.finished_at = payload["finishedAt"].as_i64().or(self.finished_at),
            // Another control frame.
            _ => {}
        }
    }

    fn take(&mut self, json: &str) {
        match serde_json::from_str::<Value>(json) {
            Ok(event) if event.get("type").is_some_and(Value::is_string) => self.events.push(event),
            Ok(_) | Err(_) => self.skipped += 1,
        }
    }
}

/// JSON lines never begin with a stream field, because an object begins with a brace.
fn is_stream(text: &str) -> bool {
    let begins = |line: &str| FIELDS.iter().any(|field| line.starts_with(field));
    let first = lines(text).find(|line| !line.trim().is_empty());
    first.is_some_and(begins) || lines(text).any(|line| line.starts_with(DATA))
}

/// Splits at the format's three line ends. The empty line between CR and LF is harmless here.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\n', '\r'])
}

#[cfg(test)]
#[path = "capture_tests.rs"]
mod tests;
