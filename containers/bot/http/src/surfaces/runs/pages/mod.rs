//! The pages and their templates.

mod docs;
mod index;
mod outline;
mod render;
mod run;

pub(crate) use docs::DocsPage;
pub(crate) use index::{IndexPage, Row};
pub(crate) use run::RunPage;
