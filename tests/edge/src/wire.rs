//! A caller that sends exactly the bytes it is told to, and looks at exactly what comes back.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use crate::Message;

/// Longest wait for anything that must happen; only a hang reaches it.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// For which a write must make no progress until its sender counts as held up.
const HELD_UP: Duration = Duration::from_secs(2);
/// Bytes that are written at once.
const PIECE: usize = 64 << 10;

/// One connection.
pub struct Wire {
    stream: TcpStream,
}

/// Everything that came back on a connection until its end.
#[derive(Debug, Clone)]
pub struct Said {
    /// As text.
    pub text: String,
}

impl Said {
    /// The statuses of its answers, in order.
    pub fn statuses(&self) -> Vec<u16> {
        let heads = self.text.split("HTTP/1.1 ").skip(1);
        heads.filter_map(|head| head.get(..3)?.parse().ok()).collect()
    }
}

impl Wire {
    /// Connects.
    pub fn to(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("a connection");
        stream.set_nodelay(true).expect("no delay");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        Self { stream }
    }

    /// Sends these bytes. The other side may have closed already: what it said is then still to be read.
    pub fn send(&mut self, bytes: &[u8]) {
        if let Err(error) = self.stream.write_all(bytes) {
            assert!(has_closed(&error), "not sent: {error}");
        }
    }

    /// Sends chunks of a body that never ends, at most so many bytes, until the other side closes or takes no more; tells
    /// how many bytes it took.
    pub fn pour(&mut self, most: u64) -> u64 {
        let chunk = [format!("{PIECE:x}\r\n").into_bytes(), vec![b'x'; PIECE], b"\r\n".to_vec()].concat();
        self.stream.set_write_timeout(Some(HELD_UP)).expect("a timeout");
        let mut taken = 0;
        while taken < most {
            match self.stream.write(&chunk[usize::try_from(taken % chunk.len() as u64).expect("small")..]) {
                Ok(bytes) => taken += bytes as u64,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        taken
    }

    /// Says that nothing follows, and hears everything until the other side closes.
    pub fn hear_out(mut self) -> Said {
        // It may be closed already.
        let _ = self.stream.shutdown(Shutdown::Write);
        let mut bytes = Vec::new();
        if let Err(error) = self.stream.read_to_end(&mut bytes) {
            assert!(has_closed(&error), "neither an answer nor an end: {error}");
        }
        Said { text: String::from_utf8_lossy(&bytes).into_owned() }
    }

    /// Hears the answer to a request of this method that asked for the connection's end, byte for byte.
    ///
    /// workerd awaits 5 s long that its caller ends too, so this does as soon as the answer is whole, and not before: the
    /// bot takes a caller's end for its leave.
    pub fn answer(mut self, method: &str) -> Message {
        let mut bytes = Vec::new();
        let mut piece = vec![0; PIECE];
        while !Message::is_whole(&bytes, method) {
            let read = self.stream.read(&mut piece).expect("an answer");
            assert!(read > 0, "it broke off: {}", String::from_utf8_lossy(&bytes));
            bytes.extend_from_slice(&piece[..read]);
        }
        // It may be closed already.
        let _ = self.stream.shutdown(Shutdown::Write);
        self.stream.read_to_end(&mut bytes).expect("its end");
        Message::parse(&bytes)
    }

    /// Hears until some words have come.
    pub fn hear(&mut self, words: &str) -> Said {
        let mut bytes = Vec::new();
        let mut piece = [0; 4096];
        loop {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            if text.contains(words) {
                return Said { text };
            }
            let read = self.stream.read(&mut piece).expect("an answer");
            assert!(read > 0, "it ended without {words:?}: {text}");
            bytes.extend_from_slice(&piece[..read]);
        }
    }
}

fn has_closed(error: &std::io::Error) -> bool {
    [ErrorKind::ConnectionReset, ErrorKind::BrokenPipe, ErrorKind::NotConnected].contains(&error.kind())
}
