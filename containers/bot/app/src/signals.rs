//! Being told to stop.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// How the process was told to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// SIGTERM: finish what is in flight.
    Drain,
    /// SIGINT: stop what is in flight.
    Stop,
}

/// The signals that stop the process.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Listens from now on; the default action no longer applies.
    pub fn listen() -> std::io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for the next one.
    pub async fn next(&mut self) -> Told {
        tokio::select! {
            _ = self.terminate.recv() => Told::Drain,
            _ = self.interrupt.recv() => Told::Stop,
        }
    }
    /// Waits for SIGINT.
    pub async fn told_to_stop(&mut self) {
        self.interrupt.recv().await;
    }
}
