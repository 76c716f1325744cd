//! The installation parts that a command may need.

/// A part of an installation that may be off, which removes the commands from every surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Capability {
    /// Memory that spans several runs.
    Memory,
    /// Schedules that fire, and the record of each firing.
    Schedules,
    /// A code host, on which the service posts.
    CodeHost,
    /// Residents: repository environments that are kept warm.
    Residents,
    /// Abridged reading diffs for reviews.
    Abridger,
}

impl Capability {
    /// Returns why the commands are off, with the settings that turn it on.
    #[must_use]
    pub const fn off_text(self) -> &'static str {
        match self {
            Self::Memory => {
                "memory is off: set memory.enabled = true and organization in the configuration to turn it on"
            }
            Self::Schedules => {
                "schedules are off: set runHistory.store = \"worker\" (or STATE_WORKER_URL), schedules.worker, or \
                 selfImprovement.repo with a code host and its grants, to turn them on"
            }
            Self::CodeHost => {
                "no code host is connected: set GITHUB_APP_ID, GITHUB_APP_INSTALLATION_ID and \
                 GITHUB_APP_PRIVATE_KEY to turn it on"
            }
            Self::Residents => {
                "residents are off: set execution.resident.baseUrl in the configuration to turn them on (on one machine \
                 with its own store they are on, unless execution.resident.local is false)"
            }
            Self::Abridger => {
                "reading diffs are off: they need a code host, run history, a model with a key, and a \
                 review.readingDiff.provider other than off"
            }
        }
    }
}
