//! The server's response: whole, or chunk by chunk.

use std::cell::Cell;
use std::io::{Result, Write};
use std::net::TcpStream;

/// An answer that has not begun.
pub struct Reply<'a> {
    stream: &'a mut TcpStream,
    body_ended: &'a Cell<bool>,
}

/// An answer in chunks. Dropping it early cuts the answer off.
pub struct Chunks<'a> {
    stream: &'a mut TcpStream,
}

impl<'a> Reply<'a> {
    pub(crate) fn to(stream: &'a mut TcpStream, body_ended: &'a Cell<bool>) -> Self {
        Self { stream, body_ended }
    }

    /// Answers with a whole body, in a single write. If the request was not read to the end, the
    /// response closes the connection, so that no further request is sent on it.
    pub fn whole(self, status: u16, content_type: &str, body: &[u8]) -> Result<()> {
        let end = if self.body_ended.get() {
            ""
        } else {
            "\r\nConnection: close"
        };
        let mut bytes = head(
            status,
            content_type,
            &format!("Content-Length: {}{end}", body.len()),
        );
        bytes.extend_from_slice(body);
        self.stream.write_all(&bytes)
    }

    /// Begins a response with unknown length.
    pub fn chunks(self, status: u16, content_type: &str) -> Result<Chunks<'a>> {
        self.stream
            .write_all(&head(status, content_type, "Transfer-Encoding: chunked"))?;
        Ok(Chunks {
            stream: self.stream,
        })
    }
}

impl Chunks<'_> {
    /// Sends a chunk. An empty chunk is skipped, because it would end the response.
    pub fn send(&mut self, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
        chunk.extend_from_slice(bytes);
        chunk.extend_from_slice(b"\r\n");
        self.stream.write_all(&chunk)
    }

    /// Ends the answer and keeps the connection.
    pub fn end(self) -> Result<()> {
        self.stream.write_all(b"0\r\n\r\n")
    }
}

fn head(status: u16, content_type: &str, framing: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status} -\r\nContent-Type: {content_type}\r\n{framing}\r\n\r\n").into_bytes()
}
