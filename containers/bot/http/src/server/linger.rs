//! A connection that closes gently.
//!
//! When an answer goes out before the request has been read (413, 401), closing at once makes the kernel send a
//! reset, and the reset can overtake the answer: the caller sees a broken connection instead of the status. So the
//! write side closes first, and what still arrives is thrown away for a moment, bounded in time and bytes.

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

/// How long a caller may take to notice the answer.
const LINGER: Duration = Duration::from_secs(1);
/// Most bytes thrown away meanwhile.
const MAX_DISCARDED: usize = 1 << 20;
/// Bytes thrown away at a time.
const CHUNK: usize = 8 << 10;

/// A TCP stream whose shutdown lingers.
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
        Self { stream, closing: None }
    }

    fn poll_discard(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(closing) = &mut self.closing else { return Poll::Ready(()) };
        let mut chunk = [0; CHUNK];
        loop {
            if closing.deadline.as_mut().poll(cx).is_ready() {
                return Poll::Ready(());
            }
            // A caller that sends on regardless, or a proxy on its behalf, is held up, not reset: it may not have come
            // to the answer yet.
            if closing.discarded >= MAX_DISCARDED {
                return Poll::Pending;
            }
            let mut buffer = ReadBuf::new(&mut chunk);
            match ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buffer)) {
                Ok(()) if !buffer.filled().is_empty() => closing.discarded += buffer.filled().len(),
                // The caller closed too, or is gone.
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
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
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
            self.closing = Some(Closing { deadline: Box::pin(sleep(LINGER)), discarded: 0 });
        }
        self.poll_discard(cx).map(Ok)
    }
}
