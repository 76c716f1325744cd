//! `ars friction <verb>`: why runs were slow.

mod analyze;
mod render;

use std::process::ExitCode;

use super::Failure;
use crate::args::{Friction, FrictionVerb};

/// Runs the verb.
pub async fn run(args: Friction) -> Result<ExitCode, Failure> {
    match args.verb {
        FrictionVerb::Analyze(args) => analyze::run(args).await,
    }
}
