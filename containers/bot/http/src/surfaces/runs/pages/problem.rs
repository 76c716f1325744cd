//! The page in place of one that does not exist or cannot be shown now.

use askama::Template;
use axum::http::StatusCode;

use super::nav::Nav;

/// What a machine gets for every hidden and every unknown run, and where nothing is.
const PLAIN_NOT_FOUND: &str = "Not found";
/// The text of a page for the same.
const NOT_FOUND: &str =
    "There is no such page, or you may not read it. A run may have been removed from the history.";

/// The page.
#[derive(Template)]
#[template(path = "problem.html")]
pub(crate) struct ProblemPage<'a> {
    nav: Nav,
    title: &'static str,
    text: &'a str,
}

impl<'a> ProblemPage<'a> {
    /// Returns the page for an answer of this status with this text.
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
