//! The bot's documentation page.

use askama::Template;
use axum::response::Response;

use crate::dashboard::shell::{Nav, render};

/// Template for the documentation page.
#[derive(Template)]
#[template(path = "docs.html")]
pub(crate) struct DocsPage {
    nav: Nav,
    base: String,
}

impl DocsPage {
    /// Returns the page with examples for the public address, or without it for the request's host.
    pub(crate) fn new(nav: Nav, public_base_url: Option<&str>, host: Option<&str>) -> Self {
        let public = public_base_url
            .map(|url| url.trim().trim_end_matches('/'))
            .filter(|url| !url.is_empty());
        let base = match public {
            Some(url) => url.to_owned(),
            None => format!("http://{}", host.unwrap_or("localhost")),
        };
        Self { nav, base }
    }

    /// Returns the page as an answer.
    pub(crate) fn into_response(self) -> Response {
        render(&self)
    }
}
