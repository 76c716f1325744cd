//! Revision 2026-07-28: each request describes itself, and the server keeps no session
//! (docs/reference/mcp.md#revision-2026-07-28).

mod answer;
mod call;
mod era;
mod headers;
mod metadata;
mod methods;
mod tasks;

pub(super) use era::is_stateless;
pub(super) use methods::answer;
