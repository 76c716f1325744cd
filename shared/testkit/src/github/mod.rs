//! A fake GitHub: the API as far as the service uses it, git over HTTP, and signed webhooks.
//!
//! Repositories are real bare git repositories, so heads, diffs and pushes are true. It answers
//! below `/api/v3`, as an enterprise's own host does. An official client checks it
//! (`tests/models`). As the rehearsal host for `cargo xtask up` it serves a folder (the example
//! `rehearsal_host`).

mod answer;
mod auth;
mod checks;
mod diff;
mod fault;
mod folder;
mod git;
mod graphql;
mod issues;
mod pulls;
mod render;
mod request;
mod reviews;
mod route;
mod server;
mod state;
mod text_page;
mod webhooks;

pub use fault::{Fault, Hang};
pub use server::{FakeGitHub, GitHubApp};
pub use state::{FakeComment, FakeItem, FakePull, FakeRepository, FakeReview, FakeThread, Seen};
pub use webhooks::{Delivered, checked, commented, review_requested, sign};
