//! The body of a request, read as far as somebody wants it.

use std::cell::Cell;
use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result};
use std::net::TcpStream;

use crate::Head;

/// A body; reading it ends where the request ends.
pub struct Body<'a> {
    reader: &'a mut BufReader<TcpStream>,
    /// Bytes that follow before the next look at the framing.
    left: u64,
    chunked: bool,
    trailers: Vec<String>,
    ended: &'a Cell<bool>,
}

impl<'a> Body<'a> {
    pub(crate) fn of(
        head: &Head,
        reader: &'a mut BufReader<TcpStream>,
        ended: &'a Cell<bool>,
    ) -> Result<Self> {
        let chunked =
            head.field("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked"));
        let length = head.field("content-length").map_or(Ok(0), str::parse);
        let left = if chunked { 0 } else { length.map_err(|_| invalid("a length that is no number"))? };
        ended.set(!chunked && left == 0);
        Ok(Self { reader, left, chunked, trailers: Vec::new(), ended })
    }

    /// The lines after the last chunk, once that was read.
    pub fn trailers(&self) -> &[String] {
        &self.trailers
    }

    /// The size of the next chunk.
    fn next_chunk(&mut self) -> Result<()> {
        let line = self.line()?;
        let size = line.split(';').next().unwrap_or_default().trim();
        self.left = u64::from_str_radix(size, 16).map_err(|_| invalid("a chunk without a size"))?;
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
        let most = out.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
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

fn invalid(what: &'static str) -> Error {
    Error::new(ErrorKind::InvalidData, what)
}
