//! Connections that never finish a request, against the built binary.

use std::net::{Ipv4Addr, SocketAddr};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
    time::timeout,
};

use crate::support::{Machine, SERVE, Server, TIMEOUT};

/// Connections in the drill.
///
/// All addresses in 127.0.0.0/8 are this machine's, so each group has its own.
const CONNECTIONS: u64 = 10_000;
/// Connections from a single address, which is the limit per address.
const OF_ONE_PEER: u64 = 64;
/// Descriptors that the test needs for everything else.
const OTHER_FILES: u64 = 256;

/// Asks the probe on a new connection.
async fn is_healthy(server: &Server) -> bool {
    let answer = timeout(TIMEOUT, reqwest::get(format!("{}/healthz", server.url())));
    answer
        .await
        .expect("the probe is answered")
        .is_ok_and(|answer| answer.status() == 200)
}

async fn half_open(server: SocketAddr, peer: u64) -> Option<TcpStream> {
    let socket = TcpSocket::new_v4().unwrap();
    let [.., high, low] = peer.to_be_bytes();
    socket
        .bind(SocketAddr::from((Ipv4Addr::new(127, 1, high, low), 0)))
        .unwrap();
    let mut stream = timeout(TIMEOUT, socket.connect(server))
        .await
        .expect("it is accepted")
        .ok()?;
    // A connection that is closed already fails here.
    stream
        .write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n")
        .await
        .ok()?;
    Some(stream)
}

#[tokio::test]
async fn half_open_connections_starve_nobody() {
    let own = getrlimit(Resource::Nofile);
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: own.maximum,
            ..own
        },
    )
    .unwrap();
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let count = CONNECTIONS.min(files.saturating_sub(OTHER_FILES));
    let machine = Machine::new();
    let server = Server::start(&mut machine.ars(&SERVE)).await;
    let address = server.url().trim_start_matches("http://").parse().unwrap();
    let mut held = Vec::new();
    for number in 0..count {
        held.extend(half_open(address, number / OF_ONE_PEER).await);
        if number % 1_000 == 0 {
            assert!(is_healthy(&server).await, "after {number}");
        }
    }
    assert!(is_healthy(&server).await);
    // The last address has a full share: another from it is rejected.
    let last = (count - 1) / OF_ONE_PEER;
    let mut rejected = Vec::new();
    for _ in 0..=OF_ONE_PEER {
        rejected.extend(half_open(address, last).await);
    }
    let mut answer = Vec::new();
    // A reset after the answer ends it too.
    let _ = timeout(
        TIMEOUT,
        rejected.last_mut().unwrap().read_to_end(&mut answer),
    )
    .await
    .expect("closed");
    assert!(answer.starts_with(b"HTTP/1.1 429 "), "{answer:?}");
    drop(held);
    server.terminate().await.assert_code(0);
}
