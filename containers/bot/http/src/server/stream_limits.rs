//! The limits of open event streams, without the state that counts them.

use std::sync::Arc;

use super::quota::Quota;

/// Most open event streams.
const STREAMS_MAX: usize = 512;
/// Most open event streams of a peer.
const STREAMS_PER_PEER_MAX: usize = 32;

/// The limits of event streams.
#[derive(Debug, Clone, Copy)]
pub struct StreamLimits {
    /// Most open streams.
    pub max: usize,
    /// Most open streams of a peer.
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
    /// Returns the count of open streams.
    pub(crate) fn quota(self) -> Arc<Quota> {
        Arc::new(Quota::new(self.max, self.max_per_peer))
    }
}
