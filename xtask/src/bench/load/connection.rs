//! One HTTP/1.1 connection, kept alive: as little as the measured Workers can be asked with.
//!
//! Everything a request costs on this side besides its two system calls is done before its clock starts.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

/// Longest wait for an answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// Bytes asked of the socket at once.
const READ: usize = 256 * 1024;
/// The end of an answer's head.
const HEAD_END: &[u8] = b"\r\n\r\n";

/// A connection. Its buffers are used again by every request.
pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    filled: usize,
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The `Content-Type`.
    pub content_type: String,
    /// The body, whole.
    pub body: Vec<u8>,
}

/// What the head of an answer says.
#[derive(Debug, PartialEq, Eq)]
struct Head {
    status: u16,
    content_type: String,
    framing: Framing,
}

/// How the body ends.
#[derive(Debug, PartialEq, Eq)]
enum Framing {
    Length(usize),
    Chunked,
}

impl Connection {
    /// Connects.
    pub fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).context("cannot connect")?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(ANSWER_LIMIT))?;
        Ok(Self { stream, buffer: vec![0; READ], filled: 0 })
    }

    /// Sends a whole request and waits for the whole answer; tells its status and how many bytes its body took on the
    /// wire.
    pub fn exchange(&mut self, request: &[u8]) -> Result<(u16, usize)> {
        let (head, start, end) = self.round_trip(request)?;
        Ok((head.status, end - start))
    }

    /// The same, with the body taken out.
    pub fn ask(&mut self, request: &[u8]) -> Result<Answer> {
        Ok(self.ask_whole(request)?.1)
    }

    /// The same, with the head as it came.
    pub fn ask_whole(&mut self, request: &[u8]) -> Result<(String, Answer)> {
        let (head, start, end) = self.round_trip(request)?;
        let raw = &self.buffer[start..end];
        let body = match head.framing {
            Framing::Length(_) => raw.to_vec(),
            Framing::Chunked => unchunk(raw)?,
        };
        let text = String::from_utf8_lossy(&self.buffer[..start]).into_owned();
        Ok((text, Answer { status: head.status, content_type: head.content_type, body }))
    }

    fn round_trip(&mut self, request: &[u8]) -> Result<(Head, usize, usize)> {
        self.stream.write_all(request).context("the request was not taken")?;
        self.filled = 0;
        let start = loop {
            let searched = self.filled.saturating_sub(HEAD_END.len());
            self.receive()?;
            if let Some(at) = find(&self.buffer[searched..self.filled], HEAD_END) {
                break searched + at + HEAD_END.len();
            }
        };
        let head = Head::read(&self.buffer[..start])?;
        let end = match head.framing {
            Framing::Length(length) => {
                self.receive_to(start + length)?;
                start + length
            }
            Framing::Chunked => self.receive_chunks(start)?,
        };
        ensure!(self.filled == end, "bytes after the answer");
        Ok((head, start, end))
    }

    fn receive(&mut self) -> Result<()> {
        if self.buffer.len() - self.filled < READ / 2 {
            self.buffer.resize(self.buffer.len() + READ, 0);
        }
        loop {
            match self.stream.read(&mut self.buffer[self.filled..]) {
                Ok(0) => bail!("the connection ended"),
                Ok(read) => {
                    self.filled += read;
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error).context("no answer"),
            }
        }
    }

    fn receive_to(&mut self, end: usize) -> Result<()> {
        while self.filled < end {
            self.receive()?;
        }
        Ok(())
    }

    /// Tells where the last chunk ends.
    fn receive_chunks(&mut self, start: usize) -> Result<usize> {
        let mut at = start;
        loop {
            let line = loop {
                if let Some(length) = find(&self.buffer[at..self.filled], b"\r\n") {
                    break at + length;
                }
                self.receive()?;
            };
            let size = chunk_size(&self.buffer[at..line])?;
            at = line + 2 + size + 2;
            self.receive_to(at)?;
            if size == 0 {
                return Ok(at);
            }
        }
    }
}

impl Head {
    fn read(bytes: &[u8]) -> Result<Self> {
        let text = std::str::from_utf8(bytes).context("the head is not text")?;
        let mut lines = text.split("\r\n");
        let status = lines.next().and_then(|line| line.get(9..12)?.parse().ok()).context("no status")?;
        let (mut content_type, mut framing) = (String::new(), None);
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            let value = value.trim();
            if name.eq_ignore_ascii_case("content-length") {
                framing = Some(Framing::Length(value.parse()?));
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                framing = Some(Framing::Chunked);
            } else if name.eq_ignore_ascii_case("content-type") {
                value.clone_into(&mut content_type);
            }
        }
        Ok(Self { status, content_type, framing: framing.context("an answer without an end")? })
    }
}

fn unchunk(mut raw: &[u8]) -> Result<Vec<u8>> {
    let mut body = Vec::with_capacity(raw.len());
    loop {
        let line = find(raw, b"\r\n").context("a chunk without a size")?;
        let size = chunk_size(&raw[..line])?;
        let chunk = raw.get(line + 2..line + 2 + size).context("a chunk that is cut")?;
        if size == 0 {
            return Ok(body);
        }
        body.extend_from_slice(chunk);
        raw = raw.get(line + 2 + size + 2..).context("a chunk without an end")?;
    }
}

fn chunk_size(line: &[u8]) -> Result<usize> {
    usize::from_str_radix(std::str::from_utf8(line)?.trim(), 16).context("a chunk's size")
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// Answers one connection's requests of one byte each, in pieces.
    fn answering(pieces: &'static [&'static [u8]]) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            while stream.read_exact(&mut [0]).is_ok() {
                for piece in pieces {
                    stream.write_all(piece).unwrap();
                }
            }
        });
        address
    }

    #[test]
    fn an_answer_is_whole_however_it_is_framed_and_cut() {
        let type_and_body =
            Answer { status: 409, content_type: "application/json".into(), body: b"{\"a\":1}".into() };
        let plain: &[&[u8]] = &[
            b"HTTP/1.1 409 Conflict\r\nContent-",
            b"Type: application/json\r\nContent-Length: 7\r\n\r",
            b"\n{\"a\"",
            b":1}",
        ];
        let chunked: &[&[u8]] = &[
            b"HTTP/1.1 409 Conflict\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n3\r",
            b"\n{\"a\r\n4\r\n\":1}\r\n",
            b"0\r\n\r\n",
        ];
        for pieces in [plain, chunked] {
            let mut connection = Connection::open(answering(pieces)).unwrap();
            for _ in 0..2 {
                assert_eq!(connection.ask(b"x").unwrap(), type_and_body);
                assert_eq!(connection.exchange(b"x").unwrap().0, 409);
            }
        }
    }

    #[test]
    fn an_answer_without_an_end_is_an_error() {
        let mut connection = Connection::open(answering(&[b"HTTP/1.1 200 OK\r\n\r\n"])).unwrap();
        assert!(connection.ask(b"x").is_err());
    }
}
