//! Selects the verb.

use std::process::ExitCode;

use super::{super::Failure, analyze};
use crate::args::{Friction, FrictionVerb};

/// Runs the verb.
pub async fn run(args: Friction) -> Result<ExitCode, Failure> {
    match args.verb {
        FrictionVerb::Analyze(args) => analyze::run(args).await,
    }
}
