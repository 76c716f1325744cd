//! Who may do what: every route, every command and each scope alone, as three tables.
//!
//! A route of the router, a command of the registry or an action of the policy without a row fails. Not here: the order
//! of checks of a surface (`gate`, `api::order`, `mcp`), and the policy itself (`ars-auth`).

mod callers;
mod commands;
mod routes;
mod scopes;
