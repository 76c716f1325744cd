//! Clients beyond a bot's limits: many tokens, and connections that never finish a request.
//!
//! The drill asserts that the others are served, and `cargo xtask bench overload` measures how long
//! they wait.

use std::io::{ErrorKind, Result, Write as _};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::thread;
use std::time::Duration;

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with};

/// Number of clients, among which a single token is greedy.
pub const CLIENTS: usize = 200;
/// Connections that never finish a request: their addresses, and their number from each.
pub const UNFINISHED: [usize; 2] = [40, 250];
/// Identifier length in bytes beyond every limit.
pub const LONG: usize = 600_000;
/// Request fields that name a thread.
pub const IDENTIFIERS: [&str; 2] = ["channel", "thread"];
/// Each request's text.
pub const TEXT: &str = "agent:general question";
/// How a request that never ends starts.
const START: &[u8] = b"POST /ingress HTTP/1.1\r\nHost: x\r\n";
/// Threads that open connections.
const OPENERS: usize = 8;

/// Returns a token's asynchronous request, with this value for another field.
pub fn request(token: &str, field: &str, value: &str) -> Vec<u8> {
    let body = format!("{{\"text\":\"{TEXT}\",\"{field}\":\"{value}\",\"async\":true}}");
    let head = format!(
        "POST /ingress HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json"
    );
    format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// Returns a quantile of the times; zero if there are none.
pub fn quantile(mut times: Vec<Duration>, percent: usize) -> Duration {
    times.sort_unstable();
    times
        .get(times.len() * percent / 100)
        .or(times.last())
        .copied()
        .unwrap_or_default()
}

/// Returns a peer's loopback address.
pub fn peer(number: usize) -> Ipv4Addr {
    let [high, low] = u16::try_from(number + 256 + 1)
        .unwrap_or(u16::MAX)
        .to_be_bytes();
    Ipv4Addr::new(127, 0, high, low)
}

/// Connects from a peer's address.
///
/// # Errors
/// The connection was refused, or there are too many open files.
pub fn connect_from(peer: Ipv4Addr, server: SocketAddr) -> Result<TcpStream> {
    let socket = socket_with(
        AddressFamily::INET,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    bind(&socket, &SocketAddrV4::new(peer, 0))?;
    connect(&socket, &server)?;
    Ok(TcpStream::from(socket))
}

/// Connections with a request's start. They end when dropped.
pub struct Unfinished(Vec<TcpStream>);

impl Unfinished {
    /// Opens connections from a number of addresses, and a number of connections from each. Refused
    /// connections are not included.
    pub fn open(server: SocketAddr, [peers, of_each]: [usize; 2]) -> Self {
        let open = |number: usize| {
            let mut stream = connect_from(peer(number % peers), server).ok()?;
            stream.write_all(START).ok()?;
            stream.set_nonblocking(true).ok()?;
            Some(stream)
        };
        let numbers = |opener: usize| (opener..peers * of_each).step_by(OPENERS);
        let opened = thread::scope(|scope| {
            let openers: Vec<_> = (0..OPENERS)
                .map(|opener| {
                    scope.spawn(move || numbers(opener).filter_map(open).collect::<Vec<_>>())
                })
                .collect();
            openers
                .into_iter()
                .filter_map(|opener| opener.join().ok())
                .flatten()
                .collect()
        });
        Self(opened)
    }

    /// Returns how many were not refused.
    pub fn opened(&self) -> usize {
        self.0.len()
    }

    /// Returns how many the server has not closed.
    pub fn held(&self) -> usize {
        let is_held = |stream: &&TcpStream| {
            stream
                .peek(&mut [0])
                .is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
        };
        self.0.iter().filter(is_held).count()
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn unfinished_connections_are_counted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let unfinished = Unfinished::open(listener.local_addr().unwrap(), [3, 4]);
        assert_eq!((unfinished.opened(), unfinished.held()), (12, 12));
        let mut peers: Vec<_> = (0..12).map(|_| listener.accept().unwrap().1.ip()).collect();
        peers.sort_unstable();
        peers.dedup();
        assert_eq!(
            peers,
            ["127.0.1.1", "127.0.1.2", "127.0.1.3"]
                .map(|peer| peer.parse::<std::net::IpAddr>().unwrap())
        );
        assert!(unfinished.held() < 12);
    }

    #[test]
    fn quantiles_are_measured_values() {
        let times: Vec<_> = (1..=200).rev().map(Duration::from_millis).collect();
        assert_eq!(
            [50, 99, 100].map(|percent| quantile(times.clone(), percent).as_millis()),
            [101, 199, 200]
        );
        assert_eq!(quantile(Vec::new(), 99), Duration::ZERO);
    }
}
