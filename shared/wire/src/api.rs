//! The command routes.

/// A command, as `<group>.<verb>`.
pub const ROUTE: &str = "/api/{command}";
/// Describes the routes: `GET` only.
pub const OPENAPI: &str = "/api/openapi.json";
