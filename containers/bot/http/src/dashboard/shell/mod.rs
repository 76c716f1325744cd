//! What all pages share: assets, headers, navigation, rendering, and the page for problems.

mod asset;
mod headers;
mod nav;
mod policy;
mod problem;
mod problem_page;
mod render;

pub(super) use asset::asset;
pub(super) use headers::add_page_headers;
pub(super) use nav::{Nav, REPO_LIST, SCHEDULE_LIST, Section};
pub(super) use policy::{add_headers, page_headers};
pub(crate) use problem::pages_for_browsers;
pub(super) use render::{is_rehearsal, queue_text, render, status_text, status_word};
