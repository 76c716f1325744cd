//! The signals that stop the process.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// A signal that stops the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopSignal {
    /// SIGTERM, as a platform sends it.
    Terminate,
    /// SIGINT, as Ctrl-C sends it.
    Interrupt,
}

/// Receives the signals that stop the process.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Replaces the signals' default action from now on.
    pub fn listen() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next signal.
    /// SIGTERM precedes a simultaneous SIGINT, which then counts as the second signal.
    pub async fn next(&mut self) -> StopSignal {
        tokio::select! {
            biased;
            _ = self.terminate.recv() => StopSignal::Terminate,
            _ = self.interrupt.recv() => StopSignal::Interrupt,
        }
    }

    /// Waits for a SIGINT.
    pub async fn interrupted(&mut self) {
        self.interrupt.recv().await;
    }
}
