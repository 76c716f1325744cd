//! Admits event streams. Their limits are in `stream_limits`.

use std::{convert::Infallible, sync::Arc};

use axum::{
    extract::{FromRef, FromRequestParts},
    http::{HeaderName, request::Parts},
    response::Response,
};

use super::{
    peer::Peer,
    quota::{Permit, Quota},
};

/// What admits a stream.
pub(crate) struct StreamGate {
    /// The streams that are open.
    pub(crate) open: Arc<Quota>,
    /// The header in which a trusted proxy states the peer.
    pub(crate) peer_header: Option<HeaderName>,
}

/// The open streams, to which a stream for this request's peer can be added.
pub(crate) struct Streams {
    open: Arc<Quota>,
    peer: Peer,
}

/// An admitted open stream.
pub(crate) struct StreamPermit(#[expect(dead_code, reason = "its drop ends the count")] Permit);

impl Streams {
    /// Answers with a stream made by `make`, or that there are too many.
    pub(crate) fn open(&self, make: impl FnOnce(StreamPermit) -> Response) -> Response {
        match self.open.admit(Some(self.peer)) {
            Ok(permit) => make(StreamPermit(permit)),
            Err(excess) => excess.answer("event streams"),
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Streams
where
    StreamGate: FromRef<S>,
{
    type Rejection = Infallible;

    async fn from_request_parts(head: &mut Parts, state: &S) -> Result<Self, Infallible> {
        let StreamGate { open, peer_header } = StreamGate::from_ref(state);
        let peer = Peer::of_request(head, peer_header.as_ref());
        Ok(Self { open, peer })
    }
}
