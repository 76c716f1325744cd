//! Who may do what: every route, every command and each single scope, as three tables.
//!
//! A router's route, a registry command or a policy action without a row fails. Not here: a
//! surface's check order (`gate`, `api::order`, `mcp`), and the policy itself (`ars-auth`).

mod callers;
mod commands;
mod routes;
mod scopes;
