//! `ars runs watch <id>`: follows a run of a service until it ends.

use std::process::ExitCode;

use super::{
    Failure,
    follow::{Stream, follow},
    registry::Server,
};
use crate::args::RunsWatch;

/// Prints each step, then the answer.
pub async fn run(args: RunsWatch) -> Result<ExitCode, Failure> {
    let server = Server::at(&args.server)?;
    let path = format!("/runs/{}/events", args.id);
    follow(&Stream { request: &|| server.get(&path) }).await
}
