//! A response: status, fields, and body without the framing.

use std::io::Result;

use crate::connection::invalid;

/// Fields that depend on the connection or the moment, which two equal responses need not share.
const IGNORED: [&str; 4] = ["connection", "keep-alive", "transfer-encoding", "date"];

/// A parsed HTTP response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// HTTP status of the response.
    pub status: u16,
    /// The answer's own fields, with lower-case names, sorted.
    pub fields: Vec<(String, String)>,
    /// The body, without the chunks it came in.
    pub body: Vec<u8>,
}

/// How a body ends.
pub(crate) enum Framing {
    Length(usize),
    Chunked,
}

impl Message {
    /// Reads an answer that has come whole.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let head = Self::head(bytes)?;
        let rest = find(bytes, b"\r\n\r\n").map_or(&[][..], |end| &bytes[end + 4..]);
        let chunked = matches!(read_framing(bytes), Ok(Framing::Chunked));
        Ok(Self {
            body: if chunked {
                join_chunks(rest)?
            } else {
                rest.to_vec()
            },
            ..head
        })
    }

    /// Reads a response head with an incomplete body.
    pub fn head(bytes: &[u8]) -> Result<Self> {
        let mut lines = head_lines(bytes)?;
        let status = lines
            .next()
            .and_then(|line| line.split(' ').nth(1)?.parse().ok());
        let fields = lines.filter_map(|line| line.split_once(':'));
        let fields =
            fields.map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()));
        let mut fields: Vec<_> = fields
            .filter(|(name, _)| !IGNORED.contains(&name.as_str()))
            .collect();
        fields.sort();
        Ok(Self {
            status: status.ok_or_else(|| invalid("an answer without a status"))?,
            fields,
            body: Vec::new(),
        })
    }

    /// Returns all values of a field.
    pub fn values(&self, name: &str) -> Vec<&str> {
        self.fields
            .iter()
            .filter(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
            .collect()
    }

    /// Returns the value of a field that occurs once.
    pub fn field(&self, name: &str) -> Option<&str> {
        let values = self.values(name);
        if let [value] = values.as_slice() {
            Some(value)
        } else {
            None
        }
    }
}

/// Returns the statuses of all responses in a text.
pub fn statuses(text: &str) -> Vec<u16> {
    text.split("HTTP/1.1 ")
        .skip(1)
        .filter_map(|head| head.get(..3)?.parse().ok())
        .collect()
}

pub(crate) fn read_framing(bytes: &[u8]) -> Result<Framing> {
    let field = |line: &str| {
        let (name, value) = line.split_once(':')?;
        match name.to_ascii_lowercase().as_str() {
            "content-length" => value.trim().parse().ok().map(Framing::Length),
            "transfer-encoding" => Some(Framing::Chunked),
            _ => None,
        }
    };
    head_lines(bytes)?
        .find_map(field)
        .ok_or_else(|| invalid("an answer without an end"))
}

fn head_lines(bytes: &[u8]) -> Result<std::str::Split<'_, &'static str>> {
    let end = find(bytes, b"\r\n\r\n").ok_or_else(|| invalid("half a head"))?;
    std::str::from_utf8(&bytes[..end])
        .map(|head| head.split("\r\n"))
        .map_err(|_| invalid("a head of other bytes"))
}

fn join_chunks(mut raw: &[u8]) -> Result<Vec<u8>> {
    let cut = || invalid("half a chunk");
    let mut body = Vec::with_capacity(raw.len());
    loop {
        let line = find(raw, b"\r\n").ok_or_else(cut)?;
        let size = chunk_size(&raw[..line])?;
        if size == 0 {
            return Ok(body);
        }
        body.extend_from_slice(raw.get(line + 2..line + 2 + size).ok_or_else(cut)?);
        raw = raw.get(line + 2 + size + 2..).ok_or_else(cut)?;
    }
}

pub(crate) fn chunk_size(line: &[u8]) -> Result<usize> {
    let size = std::str::from_utf8(line)
        .ok()
        .map(|line| line.split(';').next().unwrap_or_default().trim());
    size.and_then(|size| usize::from_str_radix(size, 16).ok())
        .ok_or_else(|| invalid("a chunk without a size"))
}

pub(crate) fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}
