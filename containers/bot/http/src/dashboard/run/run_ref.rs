//! The run in a path, and the answers to queries without a result.

use ars_auth::Viewer;
use ars_bot_core::queries::{QueryError, Reader};
use ars_types::RunId;
use ars_wire::ErrorCode;
use axum::{
    extract::{FromRequestParts, State},
    http::{StatusCode, request::Parts},
    response::Response,
};

use crate::{params, respond, state::HttpState, surfaces::health};

/// The run id in `/runs/<id>…` and the token in the query.
pub(crate) struct RunRef {
    /// The run's id.
    pub(super) id: RunId,
    /// Query `t`; empty if absent, which opens no run.
    pub(super) token: String,
}

impl RunRef {
    /// Returns the run's reader on a route.
    pub(super) fn reader<'r>(&'r self, viewer: &'r Viewer, route: &'static str) -> Reader<'r> {
        Reader {
            viewer,
            token: &self.token,
            route,
        }
    }
}

/// Returns the answer to a query without a result.
pub(super) fn reject(error: QueryError) -> Response {
    match error {
        QueryError::NotFound | QueryError::Denied(_) => respond::not_found(),
        QueryError::AlreadyFinished => {
            respond::coded(ErrorCode::Conflict, "the run has already finished")
        }
        QueryError::Unavailable => respond::plain(
            StatusCode::SERVICE_UNAVAILABLE,
            "The run history is not available right now.\n",
        ),
    }
}

impl FromRequestParts<HttpState> for RunRef {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Response> {
        let segment = parts.uri.path().split('/').nth(2).unwrap_or_default();
        // A path with malformed percent-encoding has no route.
        let Some(text) = params::decode(segment) else {
            return Err(health::probe(State(state.clone())).await);
        };
        let id = RunId::parse(text).map_err(|_| respond::not_found())?;
        Ok(Self {
            id,
            token: params::query(&parts.uri, "t").unwrap_or_default(),
        })
    }
}
