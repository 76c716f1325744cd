//! The closed sets of words the specification uses for runs.

use serde::{Deserialize, Serialize};

macro_rules! words {
    ($(#[$doc:meta])* $type:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum $type { $($(#[$vdoc])* #[serde(rename = $word)] $variant),+ }

        impl $type {
            /// Every value, in the order of the specification.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// The value of a word; unknown words are refused, never widened.
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
    /// How a run ended (document 2 section 2.3). The ingress receipt uses all but `Interrupted`.
    RunStatus {
        /// The loop answered, budget write-ups included.
        Completed = "completed",
        /// Stopped softly: the run wrapped up and answered.
        StoppedSoft = "stopped_soft",
        /// Stopped at once.
        StoppedHard = "stopped_hard",
        /// The run threw, or its reply could not be delivered.
        Failed = "failed",
        /// The process died or gave the run up.
        Interrupted = "interrupted",
    }
);

words!(
    /// Who may see the channel a run came from (document 2 section 2.3). `Unknown` is never read as public.
    Visibility {
        /// Anyone of the installation.
        Public = "public",
        /// Members of the channel.
        Private = "private",
        /// The two ends of a direct message.
        Dm = "dm",
        /// A machine channel: HTTP and MCP ingress.
        Machine = "machine",
        /// Not resolved.
        Unknown = "unknown",
    }
);

words!(
    /// How a live run is asked to stop (document 1 section 4.4). Soft may become hard; hard never goes back.
    StopMode {
        /// The current step finishes, then the run wraps up and answers.
        Soft = "soft",
        /// In-flight work is aborted.
        Hard = "hard",
    }
);
