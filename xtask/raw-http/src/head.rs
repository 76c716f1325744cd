//! A request's head, unchanged.

use std::io::{BufRead, ErrorKind, Result};

use crate::connection::invalid;

/// Longest accepted head, in bytes.
const HEAD_LIMIT: usize = 1 << 20;

/// A request's line and fields.
#[derive(Debug, Clone)]
pub struct Head {
    raw: Vec<u8>,
    lines: Vec<String>,
}

impl Head {
    /// Reads a head; returns `None` if the connection ended before it.
    pub(crate) fn read(reader: &mut impl BufRead) -> Result<Option<Self>> {
        let mut raw = Vec::new();
        let mut lines = Vec::new();
        loop {
            let start = raw.len();
            if reader.read_until(b'\n', &mut raw)? == 0 {
                return if raw.is_empty() {
                    Ok(None)
                } else {
                    Err(ErrorKind::UnexpectedEof.into())
                };
            }
            if raw.len() > HEAD_LIMIT {
                return Err(invalid("a head beyond the limit"));
            }
            let line = String::from_utf8_lossy(&raw[start..]);
            let line = line.trim_end_matches(['\r', '\n']);
            if line.is_empty() {
                return Ok(Some(Self { raw, lines }));
            }
            lines.push(line.to_owned());
        }
    }

    /// Returns the head's bytes, including the empty line at the end.
    pub fn raw(&self) -> &[u8] {
        &self.raw
    }

    /// Returns the request method.
    pub fn method(&self) -> &str {
        self.first(0)
    }

    /// Returns the request target, usually a path.
    pub fn target(&self) -> &str {
        self.first(1)
    }

    /// Returns names unchanged and values without surrounding blanks. A line without a colon is a name.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.lines.iter().skip(1).map(|line| {
            let (name, value) = line.split_once(':').unwrap_or((line, ""));
            (name, value.trim())
        })
    }

    /// Returns a field's first value; the name is case-insensitive.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields()
            .find(|(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    fn first(&self, part: usize) -> &str {
        self.lines
            .first()
            .and_then(|line| line.split(' ').nth(part))
            .unwrap_or_default()
    }
}
