//! The page in place of a page that does not exist or cannot be shown now.

use askama::Template;
use axum::http::StatusCode;

use super::nav::Nav;

/// What a machine gets for every hidden and every unknown run, and where nothing is.
const PLAIN_NOT_FOUND: &str = "Not found";
/// The text for a page that is not found.
const NOT_FOUND: &str =
    "There is no such page, or you may not read it. A run may have been removed from the history.";

/// Template for the problem page.
#[derive(Template)]
#[template(path = "problem.html")]
pub(crate) struct ProblemPage<'a> {
    nav: Nav,
    title: &'static str,
    text: &'a str,
}

impl<'a> ProblemPage<'a> {
    /// Returns the page for a response with this status and text.
    pub(crate) fn new(nav: Nav, status: StatusCode, text: &'a str) -> Self {
        match status {
            StatusCode::NOT_FOUND => {
                let text = if text == PLAIN_NOT_FOUND {
                    NOT_FOUND
                } else {
                    text
                };
                Self {
                    nav,
                    title: "Not found",
                    text,
                }
            }
            _ => Self {
                nav,
                title: "Not available",
                text,
            },
        }
    }
}
