//! The limits of open event streams.

use std::{convert::Infallible, sync::Arc};

use axum::{extract::FromRequestParts, http::request::Parts, response::Response};

use super::quota::{Permit, Quota};
use crate::{auth::peer::Peer, state::HttpState};

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
        Self { max: STREAMS_MAX, max_per_peer: STREAMS_PER_PEER_MAX }
    }
}

/// The open streams, to which one of this request's peer can be added.
pub(crate) struct Streams {
    open: Arc<Quota>,
    peer: Peer,
}

/// An open stream.
pub(crate) struct StreamPermit(#[expect(dead_code, reason = "its drop ends the count")] Permit);

impl StreamLimits {
    /// Returns the count of open streams.
    pub(crate) fn quota(self) -> Arc<Quota> {
        Arc::new(Quota::new(self.max, self.max_per_peer))
    }
}

impl Streams {
    /// Opens a stream, or answers that there are too many.
    pub(crate) fn open(&self) -> Result<StreamPermit, Response> {
        let opened = self.open.admit(Some(self.peer));
        opened.map(StreamPermit).map_err(|excess| excess.answer("event streams"))
    }
}

impl FromRequestParts<HttpState> for Streams {
    type Rejection = Infallible;

    async fn from_request_parts(head: &mut Parts, state: &HttpState) -> Result<Self, Infallible> {
        let peer = Peer::of(head, state.peer_header.as_ref());
        Ok(Self { open: Arc::clone(&state.streams), peer })
    }
}
