//! Who may do what: every route and every command with every kind of caller, as two tables.
//!
//! A route of the router or a command of the registry without a row fails. Not here: the order of checks of a surface
//! (`gate`, `api::order`, `mcp`), and the policy itself (`ars-auth`).

mod callers;
mod commands;
mod routes;
