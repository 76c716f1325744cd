//! Pages in place of the plain texts that machines get.
//!
//! They explain that there is no such page, that a subsystem is off, or that a store does not
//! answer.

use askama::Template as _;
use axum::{
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header},
    middleware::Next,
    response::Response,
};

use super::{
    nav::{Nav, Section},
    policy::add_headers,
    problem_page::ProblemPage,
};
use crate::{dashboard::gate::is_browser, state::HttpState};

/// Largest text that becomes a page.
const PROBLEM_MAX_BYTES: usize = 4_096;

/// Answers a person's browser with a page where a machine gets plain text.
pub(crate) async fn pages_for_browsers(
    State(state): State<HttpState>,
    request: Request,
    next: Next,
) -> Response {
    let is_person = is_browser(request.method(), request.headers());
    let response = next.run(request).await;
    if is_person && is_problem(&response) {
        page(&state, response).await
    } else {
        response
    }
}

/// Returns whether the answer is a text for a viewer who was admitted: the others get 403.
fn is_problem(response: &Response) -> bool {
    let is_text = response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|media_type| media_type.as_bytes().starts_with(b"text/plain"));
    let statuses = [
        StatusCode::NOT_FOUND,
        StatusCode::BAD_GATEWAY,
        StatusCode::SERVICE_UNAVAILABLE,
    ];
    is_text && statuses.contains(&response.status())
}

async fn page(state: &HttpState, response: Response) -> Response {
    let (mut head, body) = response.into_parts();
    let bytes = to_bytes(body, PROBLEM_MAX_BYTES).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let nav = Nav::new(state, Section::Elsewhere);
    let Ok(html) = ProblemPage::new(nav, head.status, text.trim()).render() else {
        return Response::from_parts(head, Body::from(bytes));
    };
    head.headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/html; charset=utf-8"),
    );
    head.headers.remove(header::CONTENT_LENGTH);
    // The page may have the form that signs out.
    head.headers.remove(header::CONTENT_SECURITY_POLICY);
    let mut response = Response::from_parts(head, Body::from(html));
    add_headers(state, &mut response);
    response
}
