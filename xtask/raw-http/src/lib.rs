//! HTTP/1.1 byte by byte, for measurements and tests.
//!
//! A server that shows a request's head unchanged and reads the body only as far as the handler
//! does, and a connection that sends exactly the given bytes.
//!
//! The server uses a thread per connection until the program ends. It does not validate requests: a
//! head that a strict server would reject is shown like any other, because tests examine the bytes
//! that arrive behind a proxy.
#![forbid(unsafe_code)]

mod body;
mod connection;
mod head;
mod message;
pub mod overload;
mod reply;

use std::cell::Cell;
use std::io::{self, BufReader, Read as _, Result};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

pub use body::Body;
pub use connection::{Connection, READ_TIMEOUT};
pub use head::Head;
pub use message::{Message, statuses};
pub use reply::{Chunks, Reply};

/// Bytes still read and dropped from a request that was answered before it ended.
const LINGER_BYTES: u64 = 1 << 20;
/// Time for which they are read.
const LINGER: Duration = Duration::from_secs(1);

/// Answers a request. An error ends the connection.
pub trait Handler: Fn(Call<'_>) -> Result<()> + Send + Sync + 'static {}
impl<F: Fn(Call<'_>) -> Result<()> + Send + Sync + 'static> Handler for F {}

/// A request and how to answer it.
pub struct Call<'a> {
    /// The request's head.
    pub head: Head,
    /// The body, which is read from the socket only when the handler reads it.
    pub body: Body<'a>,
    /// Sends the response.
    pub reply: Reply<'a>,
    /// The socket, on which a handler that does not answer can wait for the client's disconnect.
    pub connection: &'a TcpStream,
}

/// A server that is running.
#[derive(Debug, Clone, Copy)]
pub struct Upstream {
    address: SocketAddr,
}

impl Upstream {
    /// Starts a server on a free loopback port.
    pub fn start(handler: impl Handler) -> Result<Self> {
        Self::start_on(IpAddr::V4(Ipv4Addr::LOCALHOST), handler)
    }

    /// Starts a server on a free port at this address, for example the address by which containers
    /// reach it.
    pub fn start_on(ip: IpAddr, handler: impl Handler) -> Result<Self> {
        let listener = TcpListener::bind((ip, 0))?;
        let address = listener.local_addr()?;
        let handler = Arc::new(handler);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let handler = Arc::clone(&handler);
                // The client notices a broken connection.
                thread::spawn(move || drop(serve(stream, &*handler)));
            }
        });
        Ok(Self { address })
    }

    /// Returns the address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the base URL, without a trailing slash.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

fn serve(stream: TcpStream, handler: &impl Handler) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut writer = stream.try_clone()?;
    let connection = stream.try_clone()?;
    let mut reader = BufReader::new(stream);
    while let Some(head) = Head::read(&mut reader)? {
        let ended = Cell::new(false);
        let body = Body::new(&head, &mut reader, &ended)?;
        handler(Call {
            head,
            body,
            reply: Reply::to(&mut writer, &ended),
            connection: &connection,
        })?;
        // The unread rest of the body would be parsed as the next request.
        if !ended.get() {
            return linger(reader);
        }
    }
    Ok(())
}

/// Closes a connection with unread input.
/// A plain close would send a reset, which discards an answer that the client has not read yet.
fn linger(mut reader: BufReader<TcpStream>) -> Result<()> {
    let began = Instant::now();
    reader.get_ref().shutdown(Shutdown::Write)?;
    reader.get_ref().set_read_timeout(Some(LINGER))?;
    let taken = io::copy(&mut (&mut reader).take(LINGER_BYTES), &mut io::sink())?;
    // A client that continues to send gets time to read the response.
    if taken == LINGER_BYTES {
        thread::sleep(LINGER.saturating_sub(began.elapsed()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(upstream: Upstream, request: &[u8]) -> String {
        let mut connection = Connection::open(upstream.address()).unwrap();
        connection.send(request).unwrap();
        connection.read_to_close().unwrap()
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
    fn one_connection_serves_bodies_of_both_framings() {
        let plain = "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc";
        let chunked = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nde\r\n1;x=y\r\nf\r\n0\r\n\r\n";
        let answers = ask(echo(), format!("{plain}{chunked}{plain}").as_bytes());
        let bodies: Vec<_> = answers
            .split("\r\n\r\n")
            .skip(1)
            .map(|rest| &rest[..3])
            .collect();
        assert_eq!(bodies, ["abc", "def", "abc"]);
    }

    #[test]
    fn head_is_shown_unchanged() {
        let upstream =
            Upstream::start(|call: Call<'_>| call.reply.whole(200, "x", call.head.raw())).unwrap();
        let head = "GET /a?b HTTP/1.1\r\nx_Y : 1\r\nz:  2 \r\n folded\r\n\r\n";
        assert!(ask(upstream, head.as_bytes()).ends_with(head));
    }

    #[test]
    fn trailers_are_shown() {
        let handler = |mut call: Call<'_>| {
            std::io::copy(&mut call.body, &mut std::io::sink())?;
            let trailers = call.body.trailers().join(";");
            call.reply.whole(200, "x", trailers.as_bytes())
        };
        let request = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nA: 1\r\nB: 2\r\n\r\n";
        assert!(
            ask(Upstream::start(handler).unwrap(), request.as_bytes())
                .ends_with("\r\n\r\nA: 1;B: 2")
        );
    }

    #[test]
    fn unread_body_closes_the_connection() {
        let upstream = Upstream::start(|call: Call<'_>| call.reply.whole(401, "x", b"")).unwrap();
        let inner = "GET /inner HTTP/1.1\r\n\r\n";
        let request = format!(
            "POST / HTTP/1.1\r\nContent-Length: {}\r\n\r\n{inner}",
            inner.len()
        );
        let answer = ask(upstream, request.as_bytes());
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1);
        assert!(answer.contains("\r\nConnection: close\r\n"), "{answer}");
    }

    #[test]
    fn chunks_are_sent_one_by_one() {
        let handler = |call: Call<'_>| {
            let mut chunks = call.reply.chunks(200, "text/event-stream")?;
            chunks.send(b"one")?;
            chunks.send(b"two")?;
            chunks.end()
        };
        let answer = ask(Upstream::start(handler).unwrap(), b"GET / HTTP/1.1\r\n\r\n");
        assert!(
            answer.ends_with("\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"),
            "{answer}"
        );
    }
}
