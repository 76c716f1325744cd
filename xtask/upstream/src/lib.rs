//! A small HTTP/1.1 server behind what is measured or proven: it shows a request's head byte for byte, reads a body only
//! as far as its handler does, and answers whole or in chunks.
//!
//! One thread a connection, for as long as the program runs. Not here: any opinion about requests. A head that a strict
//! server would refuse is shown like any other, because what arrives behind a proxy is the question.
#![forbid(unsafe_code)]

mod body;
mod head;
mod reply;

use std::cell::Cell;
use std::io::{self, BufReader, Read as _, Result};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

pub use body::Body;
pub use head::Head;
pub use reply::{Chunks, Reply};

/// How much, and for how long, is still taken in and thrown away of a request that was answered before its end.
const PARTING_BYTES: u64 = 1 << 20;
const PARTING: Duration = Duration::from_secs(1);

/// Answers one request. An error ends the connection.
pub trait Handler: Fn(Call<'_>) -> Result<()> + Send + Sync + 'static {}
impl<F: Fn(Call<'_>) -> Result<()> + Send + Sync + 'static> Handler for F {}

/// One request, and the way to answer it.
pub struct Call<'a> {
    /// What it began with.
    pub head: Head,
    /// What follows; nothing is read ahead of the handler but what one look at the socket brings.
    pub body: Body<'a>,
    /// The answer's way out.
    pub reply: Reply<'a>,
}

/// A running server.
#[derive(Debug, Clone, Copy)]
pub struct Upstream {
    address: SocketAddr,
}

impl Upstream {
    /// Listens on this machine only.
    pub fn start(handler: impl Handler) -> Result<Self> {
        Self::start_on(IpAddr::V4(Ipv4Addr::LOCALHOST), handler)
    }

    /// Listens on an address of this machine, such as the one by which containers reach it.
    pub fn start_on(ip: IpAddr, handler: impl Handler) -> Result<Self> {
        let listener = TcpListener::bind((ip, 0))?;
        let address = listener.local_addr()?;
        let handler = Arc::new(handler);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let handler = Arc::clone(&handler);
                // A connection that breaks is the other side's to notice.
                thread::spawn(move || drop(serve(stream, &*handler)));
            }
        });
        Ok(Self { address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its base URL, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

fn serve(stream: TcpStream, handler: &impl Handler) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut writer = stream.try_clone()?;
    let mut reader = BufReader::new(stream);
    while let Some(head) = Head::read(&mut reader)? {
        let ended = Cell::new(false);
        let body = Body::of(&head, &mut reader, &ended)?;
        handler(Call { head, body, reply: Reply::to(&mut writer, &ended) })?;
        // What was not read would be taken for the next request.
        if !ended.get() {
            return part(reader);
        }
    }
    Ok(())
}

/// Closes a connection on which something unread lies or still comes. A plain close would be a reset, which takes the
/// answer back that the other side has not read yet.
fn part(mut reader: BufReader<TcpStream>) -> Result<()> {
    let began = Instant::now();
    reader.get_ref().shutdown(Shutdown::Write)?;
    reader.get_ref().set_read_timeout(Some(PARTING))?;
    let taken = io::copy(&mut (&mut reader).take(PARTING_BYTES), &mut io::sink())?;
    // A sender that goes on regardless is held up until it had the time to read its answer.
    if taken == PARTING_BYTES {
        thread::sleep(PARTING.saturating_sub(began.elapsed()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn ask(upstream: Upstream, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(upstream.address()).unwrap();
        stream.write_all(request).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn echo() -> Upstream {
        let handler = |mut call: Call<'_>| {
            let mut body = Vec::new();
            call.body.read_to_end(&mut body)?;
            call.reply.whole(200, "text/plain", &body)
        };
        Upstream::start(handler).unwrap()
    }

    #[test]
    fn bodies_of_both_framings_are_read_and_a_connection_serves_one_request_after_another() {
        let plain = "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc";
        let chunked =
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nde\r\n1;x=y\r\nf\r\n0\r\n\r\n";
        let answers = ask(echo(), format!("{plain}{chunked}{plain}").as_bytes());
        let bodies: Vec<_> = answers.split("\r\n\r\n").skip(1).map(|rest| &rest[..3]).collect();
        assert_eq!(bodies, ["abc", "def", "abc"]);
    }

    #[test]
    fn a_head_is_shown_as_it_came() {
        let upstream = Upstream::start(|call: Call<'_>| call.reply.whole(200, "x", call.head.raw())).unwrap();
        let head = "GET /a?b HTTP/1.1\r\nx_Y : 1\r\nz:  2 \r\n folded\r\n\r\n";
        assert!(ask(upstream, head.as_bytes()).ends_with(head));
    }

    #[test]
    fn what_follows_the_last_chunk_is_shown_too() {
        let handler = |mut call: Call<'_>| {
            std::io::copy(&mut call.body, &mut std::io::sink())?;
            let trailers = call.body.trailers().join(";");
            call.reply.whole(200, "x", trailers.as_bytes())
        };
        let request =
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nA: 1\r\nB: 2\r\n\r\n";
        assert!(ask(Upstream::start(handler).unwrap(), request.as_bytes()).ends_with("\r\n\r\nA: 1;B: 2"));
    }

    #[test]
    fn a_body_that_nobody_reads_ends_the_connection_and_is_not_taken_for_a_request() {
        let upstream = Upstream::start(|call: Call<'_>| call.reply.whole(401, "x", b"")).unwrap();
        let inner = "GET /inner HTTP/1.1\r\n\r\n";
        let request = format!("POST / HTTP/1.1\r\nContent-Length: {}\r\n\r\n{inner}", inner.len());
        let answer = ask(upstream, request.as_bytes());
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1);
        assert!(answer.contains("\r\nConnection: close\r\n"), "{answer}");
    }

    #[test]
    fn an_answer_in_chunks_goes_out_chunk_by_chunk() {
        let handler = |call: Call<'_>| {
            let mut chunks = call.reply.chunks(200, "text/event-stream")?;
            chunks.send(b"one")?;
            chunks.send(b"two")?;
            chunks.end()
        };
        let answer = ask(Upstream::start(handler).unwrap(), b"GET / HTTP/1.1\r\n\r\n");
        assert!(answer.ends_with("\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"), "{answer}");
    }
}
