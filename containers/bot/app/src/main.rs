//! The binary `ars`: reads arguments, environment and configuration, puts the parts together, and runs one command.
//!
//! The only place where adapters meet the core. Not here: what any part does.

mod args;
mod build_stamp;
mod capabilities;
mod clock;
mod commands;
mod compose;
mod config;
mod environment;
mod generation;
#[cfg(feature = "kill-points")]
mod kill_points;
mod logging;
mod recorded_channels;
mod shutdown;
mod signals;
mod stores;
mod terminal;

use std::process::ExitCode;

use anyhow::anyhow;
use clap::Parser as _;

use crate::{
    args::{Args, Command},
    commands::{Failure, ask, completions, diff, friction, serve, watch},
};

/// Threads that run tasks: the bot waits far more than it computes.
const WORKER_THREADS: usize = 2;

fn main() -> ExitCode {
    // Two crypto providers in one process would panic at the first call; this is the one.
    if rustls::crypto::aws_lc_rs::default_provider().install_default().is_err() {
        return Failure::Internal(anyhow!("the TLS provider was already chosen")).report();
    }
    let args = Args::parse();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(WORKER_THREADS).enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return Failure::Internal(error.into()).report(),
    };
    let code = runtime.block_on(run(args.command));
    // A blocking read of standard input must not hold the exit.
    runtime.shutdown_background();
    code
}

async fn run(command: Command) -> ExitCode {
    let done = match command {
        Command::Serve(args) => serve::run(args).await,
        Command::Ask(args) => ask::run(args).await,
        Command::Watch(args) => watch::run(args).await,
        Command::Diff(args) => diff::run(args).await,
        Command::Friction(args) => friction::run(args).await,
        Command::Completions(args) => completions::run(&args),
    };
    done.unwrap_or_else(|failure| failure.report())
}
