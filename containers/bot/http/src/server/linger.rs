//! A connection with a lingering close.
//!
//! If a response is sent before the request has been read (401, 413), closing at once makes the
//! kernel send a reset. The reset can overtake the response, and the caller gets a broken
//! connection instead of the status. So the write side closes first, and incoming bytes are
//! discarded within time and size limits.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Sleep, sleep},
};

/// Time in which a caller must react to the answer.
const LINGER: Duration = Duration::from_secs(1);
/// Maximum bytes discarded.
const MAX_DISCARDED: usize = 1 << 20;
/// Bytes discarded per read.
const CHUNK: usize = 8 << 10;

/// A TCP stream with a lingering shutdown.
pub(crate) struct Linger {
    stream: TcpStream,
    closing: Option<Closing>,
}

struct Closing {
    deadline: Pin<Box<Sleep>>,
    discarded: usize,
}

impl Linger {
    /// Wraps an accepted connection.
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            closing: None,
        }
    }

    fn poll_discard(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(closing) = &mut self.closing else {
            return Poll::Ready(());
        };
        let mut chunk = [0; CHUNK];
        loop {
            if closing.deadline.as_mut().poll(cx).is_ready() {
                return Poll::Ready(());
            }
            // A caller that keeps sending, or a proxy, is blocked instead of reset: it may not have
            // read the response yet.
            if closing.discarded >= MAX_DISCARDED {
                return Poll::Pending;
            }
            let mut buffer = ReadBuf::new(&mut chunk);
            match ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buffer)) {
                Ok(()) if !buffer.filled().is_empty() => closing.discarded += buffer.filled().len(),
                // The caller closed too, or the connection is broken.
                Ok(()) | Err(_) => return Poll::Ready(()),
            }
        }
    }
}

impl AsyncRead for Linger {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Linger {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.closing.is_none() {
            ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
            self.closing = Some(Closing {
                deadline: Box::pin(sleep(LINGER)),
                discarded: 0,
            });
        }
        self.poll_discard(cx).map(Ok)
    }
}
