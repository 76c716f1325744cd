//! The proxy's limits (docs/reference/limits.md#tools).

use std::time::Duration;

/// Maximum concurrent connections per run.
pub(super) const MAX_CONNECTIONS: usize = 128;
/// Maximum concurrent connections for all runs.
pub(super) const MAX_ALL_CONNECTIONS: usize = 1_024;
/// Files that these connections keep open: each has two ends.
pub const CONNECTION_FILES: u64 = 2 * MAX_ALL_CONNECTIONS as u64;
/// Maximum bytes per run, in both directions together.
pub(super) const MAX_BYTES: u64 = 8 << 30;
/// Maximum size of a request's headers in bytes.
pub(super) const MAX_HEADER_BYTES: usize = 32 << 10;
/// Timeout for a request's headers.
pub(super) const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout for resolving a name and connecting to the addresses.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// Timeout for the response headers to a plain request.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);
/// Time without a byte after which a connection is closed.
pub(super) const IDLE_TIMEOUT: Duration = Duration::from_secs(300);
/// Timeout for the listener that a command's network namespace hands over.
pub(super) const HANDOVER_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum size of a push's commands in bytes.
pub(super) const MAX_PUSH_COMMANDS_BYTES: usize = 64 << 10;
/// Maximum refused hosts that a run reports.
pub(crate) const MAX_REPORTED: usize = 32;
