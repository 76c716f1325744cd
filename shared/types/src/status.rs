//! Enumerations of run attributes with their wire values.

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

            /// Parses a wire value. Returns `None` for an unknown one.
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
    /// Final status of a run. The ingress receipt uses all but `Interrupted`.
    RunStatus {
        /// The loop answered, possibly with a summary after an exhausted budget.
        Completed = "completed",
        /// Stopped softly: the run wrapped up and answered.
        StoppedSoft = "stopped_soft",
        /// Stopped immediately.
        StoppedHard = "stopped_hard",
        /// The run failed, or its reply could not be delivered.
        Failed = "failed",
        /// The process died or abandoned the run.
        Interrupted = "interrupted",
    }
);

words!(
    /// Kind of sandbox in which commands of tools run.
    SandboxKind {
        /// Namespaces of their own, by bubblewrap.
        Bubblewrap = "bubblewrap",
        /// Rights that the kernel's Landlock takes from them.
        Landlock = "landlock",
        /// No sandbox.
        None = "none",
    }
);

words!(
    /// Network of the commands of tools.
    SandboxNetwork {
        /// A proxy with a list of hosts.
        Proxy = "proxy",
        /// The network of the machine, its loopback interface included.
        Open = "open",
        /// No network.
        None = "none",
    }
);

words!(
    /// Version of the control groups that limit the commands of a run.
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
    /// Place of the working tree of a run.
    TreePlace {
        /// The disk of the bot.
        Local = "local",
        /// A resident of the repository.
        Resident = "resident",
    }
);

words!(
    /// Visibility of the channel of a run. `Unknown` is never treated as public.
    Visibility {
        /// Anyone of the installation.
        Public = "public",
        /// Members of the channel.
        Private = "private",
        /// Both participants of a direct message.
        Dm = "dm",
        /// A machine channel: HTTP and MCP ingress.
        Machine = "machine",
        /// Not resolved.
        Unknown = "unknown",
    }
);

words!(
    /// Stop request of a live run. Soft may become hard, but hard never becomes soft.
    StopMode {
        /// The current step finishes, then the run wraps up and answers.
        Soft = "soft",
        /// In-flight work is aborted.
        Hard = "hard",
    }
);
