//! Admits event streams. Their limits are in `stream_limits`.

use std::{convert::Infallible, sync::Arc};

use axum::{extract::FromRequestParts, http::request::Parts, response::Response};

use super::quota::{Permit, Quota};
use crate::{auth::peer::Peer, state::HttpState};

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

impl FromRequestParts<HttpState> for Streams {
    type Rejection = Infallible;

    async fn from_request_parts(head: &mut Parts, state: &HttpState) -> Result<Self, Infallible> {
        let peer = Peer::of(head, state.peer_header.as_ref());
        Ok(Self {
            open: Arc::clone(&state.streams),
            peer,
        })
    }
}
