//! `GET /runs/docs`: how to ask for a run and follow it; the header's docs link (document 1 section 4.4).

use axum::{
    extract::State,
    http::{HeaderMap, header},
    response::Response,
};

use super::pages::DocsPage;
use crate::state::HttpState;

/// The page.
pub(crate) async fn docs(State(state): State<HttpState>, headers: HeaderMap) -> Response {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    DocsPage::new(state.core.settings().public_base_url.as_deref(), host).into_response()
}
