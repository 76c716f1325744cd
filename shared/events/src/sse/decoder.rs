//! The client side of a stream: turns bytes in pieces of any size into frames.
//!
//! Follows the HTML standard's event stream interpretation. Not here: reconnecting, for which a
//! caller has `last_event_id` and `retry_ms`. Memory grows with the longest frame, so servers must
//! be trusted to end their frames.

/// A frame that was dispatched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frame {
    /// Last id so far, which may come from an earlier frame; a client resumes after it.
    pub id: Option<String>,
    /// The event's name, if it is named.
    pub event: Option<String>,
    /// The data lines, joined by newlines.
    pub data: String,
}

/// Decodes a single stream.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The unfinished line. Bytes, because a character may arrive in two pieces.
    line: Vec<u8>,
    /// The last line ended with CR; a following LF belongs to it.
    after_cr: bool,
    /// A line was read, so a byte order mark is ordinary text.
    started: bool,
    event: Option<String>,
    data: Option<String>,
    last_event_id: Option<String>,
    retry_ms: Option<u64>,
}

impl Decoder {
    /// Adds a piece of the stream and returns the frames that it completes.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Frame> {
        let mut frames = Vec::new();
        let mut rest = bytes;
        if self.after_cr && !rest.is_empty() {
            self.after_cr = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.line.extend_from_slice(&rest[..end]);
            let ended_by_cr = rest[end] == b'\r';
            rest = &rest[end + 1..];
            if ended_by_cr {
                self.after_cr = rest.is_empty();
                rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            }
            frames.extend(self.end_line());
        }
        self.line.extend_from_slice(rest);
        frames
    }

    /// Returns the last id, after which a client resumes.
    pub fn last_event_id(&self) -> Option<&str> {
        self.last_event_id.as_deref()
    }

    /// Returns the server's delay before a reconnect.
    pub fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    fn end_line(&mut self) -> Option<Frame> {
        let line = std::mem::take(&mut self.line);
        let bytes = if self.started {
            &line
        } else {
            line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&line)
        };
        self.started = true;
        if bytes.is_empty() {
            return self.dispatch();
        }
        let text = String::from_utf8_lossy(bytes);
        let (field, value) = text.split_once(':').unwrap_or((&text, ""));
        self.set(field, value.strip_prefix(' ').unwrap_or(value));
        None
    }

    /// Ignores unknown fields and comments (an empty field name).
    fn set(&mut self, field: &str, value: &str) {
        match field {
            "event" => self.event = Some(value.to_owned()),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            "id" if !value.contains('\0') => self.last_event_id = Some(value.to_owned()),
            "retry" if value.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.retry_ms = value.parse().ok().or(self.retry_ms);
            }
            _ => {}
        }
    }

    /// A blank line without data before it dispatches no frame and clears the event name.
    fn dispatch(&mut self) -> Option<Frame> {
        let event = self.event.take().filter(|name| !name.is_empty());
        let data = self.data.take()?;
        Some(Frame {
            id: self.last_event_id.clone().filter(|id| !id.is_empty()),
            event,
            data,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sse::frames;

    fn decode(bytes: &[u8]) -> Vec<Frame> {
        Decoder::default().push(bytes)
    }

    fn frame(id: Option<&str>, event: Option<&str>, data: &str) -> Frame {
        Frame {
            id: id.map(str::to_owned),
            event: event.map(str::to_owned),
            data: data.to_owned(),
        }
    }

    #[test]
    fn framed_events_round_trip() {
        let stream = [
            frames::PREAMBLE.to_owned(),
            frames::replay_elided(1, 4),
            frames::event(5, r#"{"type":"answer","text":"é"}"#),
            frames::KEEPALIVE.to_owned(),
            frames::replay_note("gap"),
            frames::data("two\nlines"),
            frames::end_stored(),
        ];
        let mut decoder = Decoder::default();
        let decoded = decoder.push(stream.concat().as_bytes());
        let want = [
            frame(None, Some("replay_elided"), r#"{"fromSeq":1,"toSeq":4}"#),
            frame(Some("5"), None, r#"{"type":"answer","text":"é"}"#),
            frame(Some("5"), None, r#"{"type":"replay_note","summary":"gap"}"#),
            frame(Some("5"), None, "two\nlines"),
            frame(Some("5"), Some("end"), "{}"),
        ];
        assert_eq!(decoded, want);
        assert_eq!(
            (decoder.last_event_id(), decoder.retry_ms()),
            (Some("5"), Some(3000))
        );
    }

    #[test]
    fn every_line_end_is_recognized() {
        for text in [
            "data: a\n\ndata: b\n\n",
            "data: a\r\n\r\ndata: b\r\n\r\n",
            "data: a\r\rdata: b\r\r",
        ] {
            assert_eq!(
                decode(text.as_bytes()),
                [frame(None, None, "a"), frame(None, None, "b")],
                "{text:?}"
            );
        }
    }

    #[test]
    fn fields_follow_the_standard() {
        let cases: [(&str, Vec<Frame>); 11] = [
            ("data\n\n", vec![frame(None, None, "")]),
            (
                "data:a\ndata:  b\ndata\n\n",
                vec![frame(None, None, "a\n b\n")],
            ),
            (
                ": note\nunknown: x\ndata: a\n\n",
                vec![frame(None, None, "a")],
            ),
            ("event: x\n\ndata: a\n\n", vec![frame(None, None, "a")]),
            ("event:\ndata: a\n\n", vec![frame(None, None, "a")]),
            ("id: 1\n\ndata: a\n\n", vec![frame(Some("1"), None, "a")]),
            ("id: 1\nid\ndata: a\n\n", vec![frame(None, None, "a")]),
            (
                "id: 1\nid: 2\0\ndata: a\n\n",
                vec![frame(Some("1"), None, "a")],
            ),
            ("\u{feff}data: a\n\n", vec![frame(None, None, "a")]),
            (
                "data: a\n\n\u{feff}data: b\n\n",
                vec![frame(None, None, "a")],
            ),
            ("data: unfinished\n", vec![]),
        ];
        for (text, want) in cases {
            assert_eq!(decode(text.as_bytes()), want, "{text:?}");
        }
    }

    #[test]
    fn invalid_retry_is_ignored() {
        let mut decoder = Decoder::default();
        decoder.push(b"retry: 10\nretry: 1s\nretry\nretry: 99999999999999999999999\n");
        assert_eq!(decoder.retry_ms(), Some(10));
    }

    #[test]
    fn invalid_bytes_are_replaced_within_their_line() {
        assert_eq!(
            decode(b"data: \xff\n\ndata: b\n\n"),
            [frame(None, None, "\u{fffd}"), frame(None, None, "b")]
        );
    }

    fn any_stream() -> impl Strategy<Value = String> {
        let pieces =
            "data: |data|id: 4|id:|event: end|retry: 5|: hi|é…|\u{feff}|\n|\n\n|\r\n|\r|x:";
        let piece = prop::sample::select(pieces.split('|').collect::<Vec<_>>());
        prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn chunking_does_not_change_frames(
            stream in any_stream(), sizes in prop::collection::vec(0_usize..6, 1..40)
        ) {
            let bytes = stream.as_bytes();
            let (mut chunked, mut decoder, mut at) = (Vec::new(), Decoder::default(), 0);
            for size in sizes {
                let end = bytes.len().min(at + size);
                chunked.extend(decoder.push(&bytes[at..end]));
                at = end;
            }
            chunked.extend(decoder.push(&bytes[at..]));
            let mut whole = Decoder::default();
            prop_assert_eq!(chunked, whole.push(bytes));
            prop_assert_eq!(decoder.last_event_id(), whole.last_event_id());
            prop_assert_eq!(decoder.retry_ms(), whole.retry_ms());
        }

        #[test]
        fn any_payload_round_trips(payload in "[a-z:\n\r \u{feff}é]{0,20}") {
            let text = frames::PREAMBLE.to_owned() + &frames::data(&payload);
            let want = payload.replace("\r\n", "\n").replace('\r', "\n");
            prop_assert_eq!(decode(text.as_bytes()), vec![frame(None, None, &want)]);
        }
    }
}
