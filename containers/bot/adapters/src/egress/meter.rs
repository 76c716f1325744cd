//! Counts connection bytes against the run's limit.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

/// A run's remaining bytes.
#[derive(Debug)]
pub(super) struct Budget(AtomicU64);

impl Budget {
    /// Makes a budget with this many bytes.
    pub(super) const fn new(bytes: u64) -> Self {
        Self(AtomicU64::new(bytes))
    }

    /// Returns whether no byte is left.
    pub(super) fn is_spent(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    /// Spends bytes.
    ///
    /// # Errors
    /// Returns an error once no byte is left.
    pub(super) fn spend(&self, bytes: usize) -> io::Result<()> {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let spend = |left: u64| Some(left.saturating_sub(bytes));
        let before = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend)
            .unwrap_or_default();
        if before <= bytes {
            Err(io::Error::other("the run's bytes are spent"))
        } else {
            Ok(())
        }
    }
}

/// A connection to a destination.
pub(super) struct Metered {
    stream: TcpStream,
    budget: Arc<Budget>,
    moved: Arc<AtomicU64>,
}

impl Metered {
    /// Counts a connection's bytes.
    pub(super) fn new(stream: TcpStream, budget: Arc<Budget>) -> Self {
        Self {
            stream,
            budget,
            moved: Arc::default(),
        }
    }

    /// Returns this connection's byte counter.
    pub(super) fn moved(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.moved)
    }

    fn count(&self, bytes: usize) -> io::Result<()> {
        self.moved
            .fetch_add(u64::try_from(bytes).unwrap_or(u64::MAX), Ordering::Relaxed);
        self.budget.spend(bytes)
    }
}

impl AsyncRead for Metered {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        Poll::Ready(self.count(buffer.filled().len() - before))
    }
}

impl AsyncWrite for Metered {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(context, bytes))?;
        Poll::Ready(self.count(written).map(|()| written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
