//! Being told to stop.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// How the process was told to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// By SIGTERM, as a platform does.
    Terminate,
    /// By SIGINT, as Ctrl-C does.
    Interrupt,
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

    /// Waits for the next one; of two that came together, SIGTERM is the first, so that the other one still insists.
    pub async fn next(&mut self) -> Told {
        tokio::select! {
            biased;
            _ = self.terminate.recv() => Told::Terminate,
            _ = self.interrupt.recv() => Told::Interrupt,
        }
    }

    /// Waits for SIGINT.
    pub async fn interrupted(&mut self) {
        self.interrupt.recv().await;
    }
}
