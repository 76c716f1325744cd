//! `/mcp`: requests for an agent and commands as tools, over JSON-RPC (docs/reference/mcp.md).
//!
//! The 2025 revisions are served here, revision 2026-07-28 in `stateless`.

mod call;
mod dispatch;
mod envelope;
mod failure;
mod methods;
mod origin;
mod post;
mod progress;
mod routes;
mod stateless;
mod tools;
mod version;

use post::post;
pub use routes::routes;
