//! The client's side: sends exactly the given bytes and returns exactly the bytes that come back.

use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use crate::message::{Framing, Message, chunk_size, find, read_framing};

/// Timeout for a read; only a hang reaches it.
pub const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// Time without progress after which a write counts as blocked.
const WRITE_TIMEOUT: Duration = Duration::from_secs(2);
/// Bytes read and written at once.
const PIECE: usize = 64 << 10;
const HEAD_END: &[u8] = b"\r\n\r\n";

/// A connection that reuses a single buffer: a measured request costs little more than its system
/// calls.
pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    filled: usize,
}

impl Connection {
    /// Connects to a server.
    pub fn open(address: SocketAddr) -> Result<Self> {
        Self::over(TcpStream::connect(address)?)
    }

    /// Takes over a socket.
    pub fn over(stream: TcpStream) -> Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(READ_TIMEOUT))?;
        Ok(Self {
            stream,
            buffer: Vec::new(),
            filled: 0,
        })
    }

    /// Sends bytes. A peer that has closed already is no error: the response is still to be read.
    pub fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.stream.write_all(bytes).or_else(ignore_close)
    }

    /// Sends an endless body in chunks until the peer closes, accepts no more, or `most` bytes are
    /// sent. Returns how many were accepted.
    pub fn pour(&mut self, most: u64) -> Result<u64> {
        let chunk = [
            format!("{PIECE:x}\r\n").into_bytes(),
            vec![b'x'; PIECE],
            b"\r\n".to_vec(),
        ]
        .concat();
        self.stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
        let mut sent = 0_usize;
        while (sent as u64) < most {
            match self.stream.write(&chunk[sent % chunk.len()..]) {
                Ok(bytes) => sent += bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        Ok(sent as u64)
    }

    /// Sends a request and waits for the whole response; returns the status and the body's wire
    /// bytes.
    pub fn exchange(&mut self, request: &[u8]) -> Result<(u16, usize)> {
        self.stream.write_all(request)?;
        let (start, end) = self.receive_answer("GET")?;
        if self.filled != end {
            return Err(invalid("bytes after the answer"));
        }
        let status = self
            .buffer
            .get(9..12)
            .and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
        Ok((
            status.ok_or_else(|| invalid("an answer without a status"))?,
            end - start,
        ))
    }

    /// Waits for the whole response to a request with this method. Bytes that follow it are
    /// dropped.
    pub fn answer(&mut self, method: &str) -> Result<Message> {
        let (_, end) = self.receive_answer(method)?;
        Message::parse(&self.buffer[..end])
    }

    /// Reads until these words arrived; returns all received text.
    pub fn read_until(&mut self, words: &str) -> Result<String> {
        self.filled = 0;
        loop {
            self.receive()?;
            let text = String::from_utf8_lossy(&self.buffer[..self.filled]);
            if text.contains(words) {
                return Ok(text.into_owned());
            }
        }
    }

    /// Ends the requests and returns the text that is received until the peer closes.
    pub fn read_to_close(mut self) -> Result<String> {
        self.end_requests();
        let mut bytes = Vec::new();
        self.stream
            .read_to_end(&mut bytes)
            .map(drop)
            .or_else(ignore_close)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Announces that no request follows.
    pub fn end_requests(&self) {
        // The peer may have closed already.
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// Reads this many bytes, and drops them.
    pub fn skip(&mut self, bytes: usize) -> Result<()> {
        self.stream.read_exact(&mut vec![0; bytes])
    }

    /// Returns the lines that are received from now on, through a buffer with this size.
    pub fn lines(self, capacity: usize) -> impl Iterator<Item = Result<String>> {
        BufReader::with_capacity(capacity, self.stream).lines()
    }

    /// Returns the underlying socket.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Returns where the response body starts and ends in the buffer.
    fn receive_answer(&mut self, method: &str) -> Result<(usize, usize)> {
        self.filled = 0;
        let start = loop {
            let searched = self.filled.saturating_sub(HEAD_END.len());
            self.receive()?;
            if let Some(at) = find(&self.buffer[searched..self.filled], HEAD_END) {
                break searched + at + HEAD_END.len();
            }
        };
        let end = match read_framing(&self.buffer[..start])? {
            _ if method == "HEAD" => start,
            Framing::Length(length) => self.receive_to(start + length)?,
            Framing::Chunked => self.receive_chunks(start)?,
        };
        Ok((start, end))
    }

    fn receive(&mut self) -> Result<()> {
        if self.buffer.len() - self.filled < PIECE {
            self.buffer.resize(self.buffer.len() + 2 * PIECE, 0);
        }
        loop {
            match self.stream.read(&mut self.buffer[self.filled..]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(read) => {
                    self.filled += read;
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn receive_to(&mut self, end: usize) -> Result<usize> {
        while self.filled < end {
            self.receive()?;
        }
        Ok(end)
    }

    /// Returns where the last chunk ends.
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
            at = self.receive_to(line + 2 + size + 2)?;
            if size == 0 {
                return Ok(at);
            }
        }
    }
}

fn ignore_close(error: Error) -> Result<()> {
    let closed = [
        ErrorKind::ConnectionReset,
        ErrorKind::BrokenPipe,
        ErrorKind::NotConnected,
    ];
    if closed.contains(&error.kind()) {
        Ok(())
    } else {
        Err(error)
    }
}

pub(crate) fn invalid(reason: &'static str) -> Error {
    Error::new(ErrorKind::InvalidData, reason)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// Answers each one-byte request on a single connection with these pieces.
    fn server(pieces: &'static [&'static [u8]]) -> SocketAddr {
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
    fn answer_is_whole_with_either_framing() {
        let plain: &[&[u8]] = &[
            b"HTTP/1.1 409 -\r\nA: 1\r\nContent-Length: 7\r\n\r",
            b"\n{\"a\"",
            b":1}",
        ];
        let chunked: &[&[u8]] = &[
            b"HTTP/1.1 409 -\r\na:1\r\nDate: x\r\ntransfer-encoding: chunked\r\n\r\n3\r",
            b"\n{\"a\r\n4\r\n\":1}\r\n",
            b"0\r\n\r\n",
        ];
        for pieces in [plain, chunked] {
            let mut connection = Connection::open(server(pieces)).unwrap();
            for _ in 0..2 {
                assert_eq!(connection.exchange(b"x").unwrap().0, 409);
                connection.send(b"x").unwrap();
                let answer = connection.answer("GET").unwrap();
                assert_eq!(
                    (answer.status, answer.body.as_slice()),
                    (409, b"{\"a\":1}".as_slice())
                );
                assert_eq!((answer.field("a"), answer.field("date")), (Some("1"), None));
            }
        }
    }

    #[test]
    fn head_answer_has_no_body() {
        let mut connection =
            Connection::open(server(&[b"HTTP/1.1 200 -\r\nContent-Length: 7\r\n\r\n"])).unwrap();
        connection.send(b"x").unwrap();
        assert_eq!(connection.answer("HEAD").unwrap().body, b"");
    }

    #[test]
    fn unframed_answer_is_an_error() {
        assert!(
            Connection::open(server(&[b"HTTP/1.1 200 OK\r\n\r\n"]))
                .unwrap()
                .exchange(b"x")
                .is_err()
        );
    }
}
