//! `[limits]`: limits for requests, runs and connections. 0 removes a limit.

use ars_bot_core::load_limits::LoadLimits;
use ars_bot_http::{ConnectionLimits, StreamLimits};
use serde::Deserialize;

/// Default limit for workspace bytes on the disk.
const WORKSPACE_BYTES_MAX: u64 = 50 << 30;

/// The `[limits]` table. An absent key has a default.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Limits {
    /// Maximum requests from a caller per minute.
    #[serde(alias = "requests_per_minute")]
    pub requests_per_minute: Option<u32>,
    /// Maximum live runs per caller.
    #[serde(alias = "runs_per_caller")]
    pub runs_per_caller: Option<u32>,
    /// Maximum live runs overall.
    pub runs: Option<u32>,
    /// Maximum waiting runs per caller.
    #[serde(alias = "queued_runs_per_caller")]
    pub queued_runs_per_caller: Option<u32>,
    /// Maximum waiting runs overall.
    #[serde(alias = "queued_runs")]
    pub queued_runs: Option<u32>,
    /// Maximum unread follow-ups for a live run.
    #[serde(alias = "follow_ups")]
    pub follow_ups: Option<u32>,
    /// Maximum bytes in these follow-ups.
    #[serde(alias = "follow_up_bytes")]
    pub follow_up_bytes: Option<u32>,
    /// Maximum open connections overall.
    pub connections: Option<usize>,
    /// Maximum open connections per peer.
    #[serde(alias = "connections_per_peer")]
    pub connections_per_peer: Option<usize>,
    /// Maximum open event streams overall.
    pub streams: Option<usize>,
    /// Maximum open event streams per peer.
    #[serde(alias = "streams_per_peer")]
    pub streams_per_peer: Option<usize>,
    /// Maximum workspace bytes on the disk.
    #[serde(alias = "workspace_bytes")]
    pub workspace_bytes: Option<u64>,
}

impl Limits {
    /// Returns the core's limits.
    pub(super) fn load(&self) -> LoadLimits {
        let defaults = LoadLimits::default();
        let of = |set: Option<u32>, default| match set {
            None => default,
            Some(0) => None,
            set => set,
        };
        LoadLimits {
            requests_per_minute: of(self.requests_per_minute, defaults.requests_per_minute),
            runs_per_caller: of(self.runs_per_caller, defaults.runs_per_caller),
            runs: of(self.runs, defaults.runs),
            queued_runs_per_caller: of(
                self.queued_runs_per_caller,
                defaults.queued_runs_per_caller,
            ),
            queued_runs: of(self.queued_runs, defaults.queued_runs),
            follow_ups: of(self.follow_ups, defaults.follow_ups),
            follow_up_bytes: of(self.follow_up_bytes, defaults.follow_up_bytes),
        }
    }

    /// Returns the connection limits.
    pub fn of_connections(&self) -> ConnectionLimits {
        let defaults = ConnectionLimits::default();
        ConnectionLimits {
            max: limit(self.connections, defaults.max),
            max_per_peer: limit(self.connections_per_peer, defaults.max_per_peer),
            ..defaults
        }
    }

    /// Returns the limit for workspace bytes, or `None` without a limit.
    pub fn of_workspaces(&self) -> Option<u64> {
        match self.workspace_bytes {
            None => Some(WORKSPACE_BYTES_MAX),
            Some(0) => None,
            set => set,
        }
    }

    /// Returns the event stream limits.
    pub fn of_streams(&self) -> StreamLimits {
        let defaults = StreamLimits::default();
        StreamLimits {
            max: limit(self.streams, defaults.max),
            max_per_peer: limit(self.streams_per_peer, defaults.max_per_peer),
        }
    }
}

fn limit(set: Option<usize>, default: usize) -> usize {
    match set {
        None => default,
        Some(0) => usize::MAX,
        Some(max) => max,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_removes_a_limit() {
        let limits: Limits =
            toml::from_str("runs = 0\nrunsPerCaller = 3\nqueued_runs = 5").unwrap();
        let expected = LoadLimits {
            runs: None,
            runs_per_caller: Some(3),
            queued_runs: Some(5),
            ..LoadLimits::default()
        };
        assert_eq!(limits.load(), expected);
        assert_eq!(Limits::default().load(), LoadLimits::default());
        for wrong in ["runs = -1", "run = 1", "runs = \"8\""] {
            assert!(toml::from_str::<Limits>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn absent_limits_have_their_defaults() {
        let text = "connections = 9\nstreams = 0\nstreams_per_peer = 3\nworkspaceBytes = 0\n";
        let limits = toml::from_str::<Limits>(text).unwrap();
        let (connections, streams) = (limits.of_connections(), limits.of_streams());
        assert_eq!((connections.max, connections.max_per_peer), (9, 64));
        assert_eq!((streams.max, streams.max_per_peer), (usize::MAX, 3));
        assert_eq!(
            (limits.of_workspaces(), Limits::default().of_workspaces()),
            (None, Some(53_687_091_200))
        );
    }
}
