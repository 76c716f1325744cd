//! A response body with a value that is dropped when the body was sent or the connection ended.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use axum::{body::Body, http::Response};
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};

/// A body that owns a value.
struct HeldBody<T> {
    body: Body,
    _held: T,
}

/// Returns an answer with a body that owns a value.
pub(super) fn hold<T: Send + Unpin + 'static>(response: Response<Body>, held: T) -> Response<Body> {
    response.map(|body| Body::new(HeldBody { body, _held: held }))
}

impl<T: Unpin> HttpBody for HeldBody<T> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
