//! Enumerations for run attributes with their wire values.

use serde::{Deserialize, Serialize};

macro_rules! words {
    ($(#[$doc:meta])* $type:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum $type { $($(#[$vdoc])* #[serde(rename = $word)] $variant),+ }

        impl $type {
            /// Every value, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the wire value.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// Parses a wire value. Returns `None` for an unknown value.
            pub fn parse(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
pub(crate) use words;

words!(
    /// A run's final status. The ingress receipt uses all but `Interrupted`.
    RunStatus {
        /// The loop answered, possibly with a summary after an exhausted budget.
        Completed = "completed",
        /// Stopped softly: the run wrapped up and answered.
        StoppedSoft = "stopped_soft",
        /// Stopped at once by request.
        StoppedHard = "stopped_hard",
        /// The run failed, or the reply could not be delivered.
        Failed = "failed",
        /// The process died or abandoned the run.
        Interrupted = "interrupted",
    }
);

words!(
    /// The kind of sandbox in which tool commands run.
    SandboxKind {
        /// Separate namespaces, made by bubblewrap.
        Bubblewrap = "bubblewrap",
        /// Rights that the kernel's Landlock takes from them.
        Landlock = "landlock",
        /// There is no sandbox.
        None = "none",
    }
);

words!(
    /// The network that tool commands can use.
    SandboxNetwork {
        /// A proxy with a host list.
        Proxy = "proxy",
        /// The machine's network, loopback interface included.
        Open = "open",
        /// There is no network.
        None = "none",
    }
);

words!(
    /// Version of the control groups that limit a run's commands.
    Cgroup {
        /// One hierarchy for all controllers.
        V2 = "v2",
        /// A hierarchy for each controller.
        V1 = "v1",
        /// No group can be made.
        None = "none",
    }
);

words!(
    /// Where a run's working tree is.
    TreePlace {
        /// On the bot's disk.
        Local = "local",
        /// On a resident for the repository.
        Resident = "resident",
    }
);

words!(
    /// Visibility of a run's channel. `Unknown` is never treated as public.
    Visibility {
        /// Anyone in the installation.
        Public = "public",
        /// The channel's members only.
        Private = "private",
        /// Both participants in a direct message.
        Dm = "dm",
        /// A machine channel: HTTP and MCP ingress.
        Machine = "machine",
        /// The visibility was not resolved.
        Unknown = "unknown",
    }
);

words!(
    /// A live run's stop request. Soft may become hard, but hard never becomes soft.
    StopMode {
        /// The current step finishes, then the run wraps up and answers.
        Soft = "soft",
        /// In-flight work is aborted.
        Hard = "hard",
    }
);
