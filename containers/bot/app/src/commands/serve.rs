//! `ars serve`: takes requests over HTTP until told to stop.

use std::{
    net::{Ipv4Addr, SocketAddr},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use ars_auth::TokenMap;
use ars_bot_core::{Core, DRAIN_DEADLINE};
use ars_bot_http::HttpState;
use ars_events::{Actor, ActorKind};
use ars_types::StopMode;
use ars_wire::health::Build;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::Failure;
use crate::{
    args::Serve,
    compose,
    environment::{self, name},
    logging,
    signals::{Signals, Told},
};

/// Port when neither `--listen` nor `PORT` names one.
const DEFAULT_PORT: u16 = 8787;
/// How long stopped runs may take to be recorded: the history writer's attempts, waits and time-outs.
const STOP_LIMIT: Duration = Duration::from_secs(45);
/// A shell says this of a process that Ctrl-C ended.
const INTERRUPTED: u8 = 130;

/// Serves.
pub async fn run(args: Serve) -> Result<ExitCode, Failure> {
    let parsed = TokenMap::parse(environment::variable(name::INGRESS_TOKENS).as_deref());
    let plan = compose::plan(args.setup, &parsed.map)?;
    logging::start(Arc::clone(&plan.redactor), logging::Level::Everything);
    if let Some(fault) = parsed.fault {
        tracing::error!(variable = name::INGRESS_TOKENS, reason = %fault, "no ingress tokens: the endpoints are disabled");
    } else if parsed.map.is_empty() {
        tracing::warn!(variable = name::INGRESS_TOKENS, "no ingress tokens: the endpoints are disabled");
    }
    if !plan.has_model() {
        tracing::warn!("no model is configured: requests will be told so");
    }
    let mut signals = Signals::listen().context("signals")?;
    let address = listen_address(args.listen)?;
    let listener =
        TcpListener::bind(address).await.with_context(|| format!("{address} cannot be listened on"))?;
    let address = listener.local_addr().context("the listening address")?;
    let (core, _) = plan.build(args.store, args.state_url)?;
    let state = HttpState::new(core.clone(), Arc::new(parsed.map), build());
    let closing = CancellationToken::new();
    let router = ars_bot_http::router(state);
    let server = tokio::spawn(ars_bot_http::serve(listener, router, closing.clone().cancelled_owned()));
    println!("{}", serde_json::json!({ "listening": format!("http://{address}") }));
    tracing::info!(%address, "listening");

    let told = signals.next().await;
    let code = wind_down(&core, &mut signals, told).await;
    closing.cancel();
    // A server that panicked has nothing left to close.
    drop(server.await);
    Ok(code)
}

/// Ends what is in flight as the signal asks; a further Ctrl-C shortens it.
async fn wind_down(core: &Core, signals: &mut Signals, told: Told) -> ExitCode {
    tracing::info!(in_flight = core.load().in_flight, ?told, "shutting down");
    if told == Told::Drain {
        tokio::select! {
            done = core.drain(DRAIN_DEADLINE) => {
                if !done {
                    tracing::error!(in_flight = core.load().in_flight, "the drain's deadline passed");
                }
                return ExitCode::SUCCESS;
            }
            _ = signals.next() => {}
        }
    }
    core.registry().stop_all(StopMode::Hard, &Actor::new(ActorKind::Cli, "signal"));
    tokio::select! {
        done = core.drain(STOP_LIMIT) => {
            if !done {
                tracing::error!(in_flight = core.load().in_flight, "stopped runs were not recorded in time");
            }
        }
        _ = signals.next() => tracing::error!(in_flight = core.load().in_flight, "told again: leaving at once"),
    }
    ExitCode::from(INTERRUPTED)
}

fn listen_address(wanted: Option<SocketAddr>) -> Result<SocketAddr, Failure> {
    if let Some(address) = wanted {
        return Ok(address);
    }
    let port = match environment::variable(name::PORT) {
        Some(text) => {
            text.trim().parse().map_err(|_| Failure::InvalidInput("PORT must be a port number".into()))?
        }
        None => DEFAULT_PORT,
    };
    Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
}

/// What was built, stamped at compile time.
fn build() -> Build {
    Build {
        commit: option_env!("ARS_BUILD_COMMIT").unwrap_or("unknown").to_owned(),
        built_at: option_env!("ARS_BUILT_AT").map(str::to_owned),
    }
}
