//! The head of a request, as it came.

use std::io::{BufRead, Error, ErrorKind, Result};

/// Longest head that is read: more is an error of the other side.
const HEAD_LIMIT: usize = 1 << 20;

/// A request's first line and its fields.
#[derive(Debug, Clone)]
pub struct Head {
    raw: Vec<u8>,
    lines: Vec<String>,
}

impl Head {
    /// Reads one; nothing when the connection ended before it.
    pub(crate) fn read(reader: &mut impl BufRead) -> Result<Option<Self>> {
        let mut raw = Vec::new();
        let mut lines = Vec::new();
        loop {
            let start = raw.len();
            if reader.read_until(b'\n', &mut raw)? == 0 {
                return if raw.is_empty() { Ok(None) } else { Err(ErrorKind::UnexpectedEof.into()) };
            }
            if raw.len() > HEAD_LIMIT {
                return Err(Error::new(ErrorKind::InvalidData, "a head beyond the limit"));
            }
            let line = String::from_utf8_lossy(&raw[start..]);
            let line = line.trim_end_matches(['\r', '\n']);
            if line.is_empty() {
                return Ok(Some(Self { raw, lines }));
            }
            lines.push(line.to_owned());
        }
    }

    /// Its bytes, the empty line at its end included.
    pub fn raw(&self) -> &[u8] {
        &self.raw
    }

    /// The method.
    pub fn method(&self) -> &str {
        self.first(0)
    }

    /// What was asked for: a path as a rule.
    pub fn target(&self) -> &str {
        self.first(1)
    }

    /// Names as they were written, and values without the blanks around them. A line without a colon is a name.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.lines.iter().skip(1).map(|line| {
            let (name, value) = line.split_once(':').unwrap_or((line, ""));
            (name, value.trim())
        })
    }

    /// The first value of a field, whatever the case of its name.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    fn first(&self, part: usize) -> &str {
        self.lines.first().and_then(|line| line.split(' ').nth(part)).unwrap_or_default()
    }
}
