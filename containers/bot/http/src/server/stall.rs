//! A connection with a write timeout.
//!
//! A viewer that stops reading without closing the connection fills the socket buffers. The server
//! would then keep the unsent bytes for as long as the kernel considers the peer alive, which can
//! be hours. Therefore a write that makes no progress within the timeout fails, and the connection
//! closes. A slow reader is not affected: each byte that it reads restarts the timeout. Not here: a
//! request's deadline (`serve`).

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Sleep, sleep},
};

/// A stream with a write timeout.
pub(crate) struct Stall<S> {
    stream: S,
    patience: Duration,
    /// Set while a write is pending.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<S> Stall<S> {
    /// Wraps a stream and sets the timeout for a pending write.
    pub(crate) fn new(stream: S, patience: Duration) -> Self {
        Self {
            stream,
            patience,
            deadline: None,
        }
    }

    /// Returns a write's result, or `TimedOut` if it stays pending for the whole timeout.
    fn judge<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.deadline = None;
            return written;
        }
        let patience = self.patience;
        let deadline = self
            .deadline
            .get_or_insert_with(|| Box::pin(sleep(patience)));
        deadline
            .as_mut()
            .poll(cx)
            .map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Stall<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Stall<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.judge(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.judge(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        // A completed flush is no progress for a pending write, so it does not reset the timeout.
        if flushed.is_ready() {
            flushed
        } else {
            self.judge(cx, flushed)
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt, duplex},
        time::{Instant, timeout},
    };

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn unread_write_times_out() {
        let (near, _far) = duplex(16);
        let mut stalled = Stall::new(near, TIMEOUT);
        let began = Instant::now();
        let failed = stalled.write_all(&[0; 17]).await.unwrap_err();
        assert_eq!(
            (failed.kind(), began.elapsed()),
            (io::ErrorKind::TimedOut, TIMEOUT)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn slow_reader_keeps_its_connection() {
        let (near, mut far) = duplex(1);
        let mut slow = Stall::new(near, TIMEOUT);
        let reading = async {
            for _ in 0..8 {
                tokio::time::sleep(TIMEOUT - Duration::from_secs(1)).await;
                far.read_u8().await.unwrap();
            }
        };
        let (written, ()) = tokio::join!(slow.write_all(&[0; 8]), reading);
        written.unwrap();
        // Without a pending write there is no timeout.
        let idle = timeout(TIMEOUT * 10, far.read_u8()).await;
        assert!(idle.is_err());
        slow.write_all(&[1]).await.unwrap();
    }
}
