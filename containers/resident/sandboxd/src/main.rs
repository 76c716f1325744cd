//! The daemon in a resident's container: reads settings and serves until it receives SIGTERM.

use std::{
    env,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context as _, Result};
use ars_auth::Secret;
use ars_sandboxd::{Daemon, Mode, Settings, StoreLinks, has_landlock, server};
use clap::Parser;
use tokio::{net::TcpListener, signal::unix::SignalKind, signal::unix::signal};

/// Variables that programs of threads receive from the image.
const HANDED_ON: [&str; 9] = [
    "PATH",
    "LANG",
    "CI",
    "RUSTUP_HOME",
    "GOROOT",
    "GOTOOLCHAIN",
    "NODE_OPTIONS",
    "UV_THREADPOOL_SIZE",
    "COREPACK_HOME",
];

/// Settings of the daemon.
#[derive(Debug, Parser)]
#[command(
    name = "ars-sandboxd",
    about = "Performs the steps of a resident repository environment"
)]
struct Arguments {
    /// Address to listen on
    #[arg(long, env = "ARS_SANDBOXD_LISTEN", default_value = "0.0.0.0:8080")]
    listen: SocketAddr,
    /// Folder of the workspace
    #[arg(long, default_value = "/workspace")]
    root: PathBuf,
    /// Folder of the homes of users
    #[arg(long, default_value = "/home")]
    homes: PathBuf,
    /// Bearer of the engine, random for each start of the container
    #[arg(long, env = "ARS_SANDBOXD_TOKEN", hide_env_values = true)]
    token: String,
    /// File with the build stamp
    #[arg(long, default_value = "/etc/ars/build.json")]
    build_file: PathBuf,
}

/// Returns the commit of a build stamp.
fn commit_of(file: &Path) -> String {
    let stamp = std::fs::read(file)
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let commit = stamp
        .as_ref()
        .and_then(|stamp: &serde_json::Value| stamp["commit"].as_str());
    commit.unwrap_or("unknown").to_owned()
}

#[tokio::main]
async fn main() -> Result<()> {
    tracing_subscriber::fmt().json().init();
    let Arguments {
        listen,
        root,
        homes,
        token,
        build_file,
    } = Arguments::parse();
    let token = Secret::parse(Some(token)).context("the bearer is empty")?;
    let environment = HANDED_ON
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), env::var(name).ok()?)))
        .collect();
    let build = commit_of(&build_file);
    let links = StoreLinks::Hard;
    let daemon = Daemon::open(Settings {
        root,
        homes,
        mode: Mode::Users,
        links,
        environment,
        of_service: Vec::new(),
        build,
    })?;
    if !has_landlock() {
        tracing::warn!("the kernel has no Landlock: only their users keep commands apart");
    }
    if let Err(error) = server::raise_file_limit() {
        tracing::warn!(%error, "the limit of open files is not raised");
    }
    let listener = TcpListener::bind(listen)
        .await
        .context("the address is in use")?;
    tracing::info!(address = %listener.local_addr()?, "the daemon listens");
    let mut terminate = signal(SignalKind::terminate())?;
    // The container ends with this process, and with it every step.
    let stop = async move {
        terminate.recv().await;
    };
    tokio::select! {
        () = server::serve(listener, server::router(Arc::new(daemon), token)) => {}
        () = stop => tracing::info!("the daemon stops"),
    }
    Ok(())
}
