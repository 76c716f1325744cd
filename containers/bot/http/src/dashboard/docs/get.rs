//! `GET /runs/docs`: how to request a run and follow it.

use axum::{
    extract::State,
    http::{HeaderMap, header},
    response::Response,
};

use super::page::DocsPage;
use crate::{
    dashboard::shell::{Nav, Section},
    state::HttpState,
};

/// Answers with the page.
pub(crate) async fn docs(State(state): State<HttpState>, headers: HeaderMap) -> Response {
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    let nav = Nav::new(&state, Section::Docs);
    DocsPage::new(nav, state.core.settings().public_base_url.as_deref(), host).into_response()
}
