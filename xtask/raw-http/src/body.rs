//! A request's body, read only as far as the handler does.

use std::cell::Cell;
use std::io::{BufRead, BufReader, ErrorKind, Read, Result};
use std::net::TcpStream;

use crate::Head;
use crate::connection::invalid;
use crate::message::chunk_size;

/// A body; reading it ends where the request ends.
pub struct Body<'a> {
    reader: &'a mut BufReader<TcpStream>,
    /// Bytes left in the body or the current chunk.
    left: u64,
    chunked: bool,
    trailers: Vec<String>,
    ended: &'a Cell<bool>,
}

impl<'a> Body<'a> {
    pub(crate) fn new(
        head: &Head,
        reader: &'a mut BufReader<TcpStream>,
        ended: &'a Cell<bool>,
    ) -> Result<Self> {
        let chunked = head
            .field("transfer-encoding")
            .is_some_and(|value| value.eq_ignore_ascii_case("chunked"));
        let length = head.field("content-length").map_or(Ok(0), str::parse);
        let left = if chunked {
            0
        } else {
            length.map_err(|_| invalid("a length that is not a number"))?
        };
        ended.set(!chunked && left == 0);
        Ok(Self {
            reader,
            left,
            chunked,
            trailers: Vec::new(),
            ended,
        })
    }

    /// Returns the lines after the last chunk, once the body is read.
    pub fn trailers(&self) -> &[String] {
        &self.trailers
    }

    /// Reads the next chunk's size.
    fn next_chunk(&mut self) -> Result<()> {
        let line = self.line()?;
        self.left = chunk_size(line.as_bytes())? as u64;
        if self.left == 0 {
            loop {
                let line = self.line()?;
                if line.is_empty() {
                    break;
                }
                self.trailers.push(line);
            }
            self.ended.set(true);
        }
        Ok(())
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        if self.reader.read_line(&mut line)? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end_matches(['\r', '\n']).to_owned())
    }
}

impl Read for Body<'_> {
    fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        if self.chunked && self.left == 0 && !self.ended.get() {
            self.next_chunk()?;
        }
        if self.left == 0 || out.is_empty() {
            return Ok(0);
        }
        let most = out
            .len()
            .min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let read = self.reader.read(&mut out[..most])?;
        if read == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.left -= read as u64;
        match (self.left, self.chunked) {
            (0, true) => drop(self.line()?),
            (0, false) => self.ended.set(true),
            _ => {}
        }
        Ok(read)
    }
}
