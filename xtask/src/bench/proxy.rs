//! Counts the bot's requests to the state Worker: a relay that reads each request line.
//!
//! It has one thread per direction of a connection. It assumes that a request begins with the first bytes after an
//! answer, which holds for a client that does not pipeline.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::Result;

/// Bytes that are passed on at once.
const BUFFER: usize = 64 << 10;

/// Requests by route.
pub type Counts = BTreeMap<String, u64>;

/// A relay, for as long as the program runs.
pub struct Proxy {
    address: SocketAddr,
    counts: Arc<Mutex<Counts>>,
}

impl Proxy {
    /// Starts one before `target`.
    pub fn start(target: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let counts = Arc::<Mutex<Counts>>::default();
        let counted = Arc::clone(&counts);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                // A connection that cannot be relayed is closed, which the bot notices.
                let _ = relay(client, target, &counted);
            }
        });
        Ok(Self { address, counts })
    }

    /// Its base URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests so far.
    pub fn counts(&self) -> Counts {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Returns the requests since `earlier`.
pub fn since(now: &Counts, earlier: &Counts) -> Counts {
    let new = |(route, count): (&String, &u64)| {
        let more = count - earlier.get(route).unwrap_or(&0);
        (more > 0).then(|| (route.clone(), more))
    };
    now.iter().filter_map(new).collect()
}

fn relay(client: TcpStream, target: SocketAddr, counts: &Arc<Mutex<Counts>>) -> Result<()> {
    let worker = TcpStream::connect(target)?;
    client.set_nodelay(true)?;
    worker.set_nodelay(true)?;
    let answered = Arc::new(AtomicBool::new(true));
    let (up, down) = ((client.try_clone()?, worker.try_clone()?), (worker, client));
    let (counts, seen) = (Arc::clone(counts), Arc::clone(&answered));
    thread::spawn(move || {
        pass(up.0, up.1, |bytes| {
            if seen.swap(false, Ordering::SeqCst)
                && let Some(route) = route(bytes)
            {
                *counts.lock().unwrap_or_else(PoisonError::into_inner).entry(route).or_default() += 1;
            }
        });
    });
    thread::spawn(move || pass(down.0, down.1, |_| answered.store(true, Ordering::SeqCst)));
    Ok(())
}

/// Passes everything on; the end of one direction is the end of the connection.
fn pass(mut from: TcpStream, mut to: TcpStream, mut look: impl FnMut(&[u8])) {
    let mut buffer = vec![0; BUFFER];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        look(&buffer[..count]);
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    // Either may be closed already.
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}

/// The path of a request that begins with these bytes.
fn route(bytes: &[u8]) -> Option<String> {
    let line = bytes.split(|byte| *byte == b'\r').next()?;
    let path = std::str::from_utf8(line).ok()?.split(' ').nth(1)?;
    Some(path.split('?').next()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_route_and_passed_on() {
        let worker = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = Proxy::start(worker.local_addr().unwrap()).unwrap();
        let mut client = TcpStream::connect(proxy.address).unwrap();
        let (mut accepted, _) = worker.accept().unwrap();
        for _ in 0..2 {
            let request = b"POST /runs/flush HTTP/1.1\r\n\r\n";
            client.write_all(request).unwrap();
            let mut read = vec![0; request.len()];
            accepted.read_exact(&mut read).unwrap();
            accepted.write_all(b"ok").unwrap();
            client.read_exact(&mut [0; 2]).unwrap();
            assert_eq!(read, request);
        }
        assert_eq!(proxy.counts(), Counts::from([("/runs/flush".to_owned(), 2)]));
    }

    #[test]
    fn only_what_is_new_is_told() {
        let before = Counts::from([("/a".to_owned(), 2), ("/b".to_owned(), 1)]);
        let after = Counts::from([("/a".to_owned(), 5), ("/b".to_owned(), 1), ("/c".to_owned(), 1)]);
        assert_eq!(since(&after, &before), Counts::from([("/a".to_owned(), 3), ("/c".to_owned(), 1)]));
    }
}
