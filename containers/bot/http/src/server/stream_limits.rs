//! Limits on open event streams, without the state that counts them.

use std::sync::Arc;

use super::quota::Quota;

/// Most open event streams.
const STREAMS_MAX: usize = 512;
/// Maximum open event streams per peer.
const STREAMS_PER_PEER_MAX: usize = 32;

/// Limits on event streams.
#[derive(Debug, Clone, Copy)]
pub struct StreamLimits {
    /// Maximum open streams overall.
    pub max: usize,
    /// Maximum open streams per peer.
    pub max_per_peer: usize,
}

impl Default for StreamLimits {
    fn default() -> Self {
        Self {
            max: STREAMS_MAX,
            max_per_peer: STREAMS_PER_PEER_MAX,
        }
    }
}

impl StreamLimits {
    /// Returns the quota that counts open streams.
    pub(crate) fn quota(self) -> Arc<Quota> {
        Arc::new(Quota::new(self.max, self.max_per_peer))
    }
}
