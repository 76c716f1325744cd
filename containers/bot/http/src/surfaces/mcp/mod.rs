//! `/mcp`: requests for an agent and commands as tools, over JSON-RPC (docs/reference/mcp.md).

mod call;
mod dispatch;
mod envelope;
mod methods;
mod origin;
mod post;
mod tools;

pub(crate) use post::post;
