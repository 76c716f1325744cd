//! The binary `ars`: parses the configuration, composes the parts, and runs a single command.
//!
//! The only place where adapters meet the core.

mod args;
mod build_stamp;
mod capabilities;
mod clock;
mod code_host;
mod commands;
mod compose;
mod config;
mod data_dir_lock;
mod environment;
mod error;
mod finding;
mod generation;
#[cfg(feature = "kill-points")]
mod kill_points;
mod listed_model;
mod lock;
mod logging;
mod residents;
mod secret_length;
mod services;
mod shutdown;
mod signals;
mod stores;
mod surfaces;
mod terminal;
mod tree_folder;

use std::process::ExitCode;

use anyhow::anyhow;
use ars_bot_adapters::{
    egress::{ENTER, enter},
    sandbox::{SERVE, serve},
};

use crate::{
    args::{Command, SetUp},
    commands::{
        Failure, ask, completions, diff, doctor,
        registry::{self, Invocation},
        runs_watch, serve, set_up, watch,
    },
};

/// Worker threads: the bot waits far more than it computes.
const WORKER_THREADS: usize = 2;
/// A worker's stack in bytes. An unoptimised build's futures overflow the default 2 MiB.
const WORKER_STACK: usize = 16 << 20;

/// Exit code for a command that could not be started, as in shells.
const NOT_STARTED: u8 = 126;

fn main() -> ExitCode {
    // In a sandbox, before anything else: this program becomes an agent's command, or starts
    // commands.
    let mut words = std::env::args_os().skip(1);
    let ended = match words.next() {
        Some(word) if word == ENTER => Some(Err(enter(&words.collect::<Vec<_>>()))),
        Some(word) if word == SERVE => Some(serve(&words.collect::<Vec<_>>())),
        _ => None,
    };
    match ended {
        Some(Ok(())) => return ExitCode::SUCCESS,
        Some(Err(error)) => {
            terminal::tell(&format!("ars: the command could not be started: {error}"));
            return ExitCode::from(NOT_STARTED);
        }
        None => {}
    }
    // Exactly one crypto provider: with two, the first TLS call would panic.
    if rustls::crypto::aws_lc_rs::default_provider()
        .install_default()
        .is_err()
    {
        return Failure::Internal(anyhow!("the TLS provider was already chosen")).report();
    }
    let arguments: Vec<_> = std::env::args_os().collect();
    let parsed = match Invocation::find(&arguments) {
        Some(Ok(invocation)) => Parsed::Registry(invocation),
        Some(Err(failure)) => return failure.report(),
        None => match args::parse(&arguments) {
            Ok(command) => Parsed::Own(command),
            Err(failure) => return failure.report(),
        },
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKER_THREADS)
        .thread_stack_size(WORKER_STACK)
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return Failure::Internal(error.into()).report(),
    };
    let code = runtime.block_on(run(parsed));
    // A blocking read from standard input must not delay the exit.
    runtime.shutdown_background();
    code
}

/// A parsed command line.
enum Parsed {
    /// A command from the registry.
    Registry(Invocation),
    /// A command that only the command line has.
    Own(Command),
}

async fn run(parsed: Parsed) -> ExitCode {
    let command = match parsed {
        Parsed::Registry(invocation) => {
            return registry::run(invocation)
                .await
                .unwrap_or_else(|failure| failure.report());
        }
        Parsed::Own(command) => command,
    };
    let done = match command {
        Command::Serve(args) => serve::run(args).await,
        Command::Ask(args) => ask::run(args).await,
        Command::Watch(args) => watch::run(args).await,
        Command::Diff(args) => diff::run(args).await,
        Command::Doctor(args) => doctor::run(args).await,
        Command::SetUp(SetUp::Slack) => set_up::slack().await,
        Command::RunsWatch(args) => runs_watch::run(args).await,
        Command::Completions(args) => completions::run(&args),
    };
    done.unwrap_or_else(|failure| failure.report())
}
