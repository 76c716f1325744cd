//! The answer: whole, or chunk by chunk.

use std::cell::Cell;
use std::io::{Result, Write};
use std::net::TcpStream;

/// An answer that was not begun.
pub struct Reply<'a> {
    stream: &'a mut TcpStream,
    was_heard_out: &'a Cell<bool>,
}

/// An answer that goes out in chunks. Dropped before its end, it is cut off.
pub struct Chunks<'a> {
    stream: &'a mut TcpStream,
}

impl<'a> Reply<'a> {
    pub(crate) fn to(stream: &'a mut TcpStream, was_heard_out: &'a Cell<bool>) -> Self {
        Self { stream, was_heard_out }
    }

    /// Answers with a body that is there already, in one write. When the request was not read to its end, the connection
    /// ends with this answer, and the answer says so: nobody is to send another request on it.
    pub fn whole(self, status: u16, content_type: &str, body: &[u8]) -> Result<()> {
        let end = if self.was_heard_out.get() { "" } else { "\r\nConnection: close" };
        let mut bytes = head(status, content_type, &format!("Content-Length: {}{end}", body.len()));
        bytes.extend_from_slice(body);
        self.stream.write_all(&bytes)
    }

    /// Begins an answer whose length nobody knows.
    pub fn chunks(self, status: u16, content_type: &str) -> Result<Chunks<'a>> {
        self.stream.write_all(&head(status, content_type, "Transfer-Encoding: chunked"))?;
        Ok(Chunks { stream: self.stream })
    }
}

impl Chunks<'_> {
    /// Sends some bytes at once; none would end the answer, so they are no chunk.
    pub fn send(&mut self, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
        chunk.extend_from_slice(bytes);
        chunk.extend_from_slice(b"\r\n");
        self.stream.write_all(&chunk)
    }

    /// Ends the answer; the connection goes on.
    pub fn end(self) -> Result<()> {
        self.stream.write_all(b"0\r\n\r\n")
    }
}

fn head(status: u16, content_type: &str, framing: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status} -\r\nContent-Type: {content_type}\r\n{framing}\r\n\r\n").into_bytes()
}
