//! `ars serve`: takes requests over HTTP until told to stop.

use std::{
    net::{Ipv4Addr, SocketAddr},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use ars_auth::{ParsedTokens, TokenMap};
use ars_bot_core::Core;
use ars_bot_http::HttpState;
use ars_bot_telemetry::{Options, Telemetry};
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use super::{Failure, interrupted};
use crate::{
    args::Serve,
    build_stamp, compose,
    environment::{self, name},
    shutdown::{self, Wound},
    signals::{Signals, Told},
    terminal,
};

/// How long the last spans may take to the collector.
const TELEMETRY_LIMIT: Duration = Duration::from_secs(3);
/// Exit code of a crash that was asked for: that of a process killed by SIGKILL (document 1 section 4.6).
const CRASHED: i32 = 137;
/// Port when neither `--listen` nor `PORT` names one.
const DEFAULT_PORT: u16 = 8787;

/// Serves.
pub async fn run(args: Serve) -> Result<ExitCode, Failure> {
    // Before anything is waited for: to the first process of a container a signal that it does not handle is lost, and
    // whoever sent it would wait for the end in vain.
    let mut signals = Signals::listen().context("signals")?;
    let started = tokio::select! {
        started = start(args) => started?,
        // No request was taken, and what was begun for other processes they find as it was.
        told = signals.next() => return Ok(match told {
            Told::Terminate => ExitCode::SUCCESS,
            Told::Interrupt => interrupted(),
        }),
    };
    let Started { core, telemetry, ledger, ledger_end, closing, server } = started;

    let told = signals.next().await;
    let wound = shutdown::wind_down(&core, &mut signals, told, closing, server).await;
    // Nothing is in flight any more, or nothing is waited for: a flush under way has nothing left to carry.
    ledger_end.cancel();
    ledger.abort();
    telemetry.finish(TELEMETRY_LIMIT).await;
    match wound {
        Wound::Down => Ok(ExitCode::SUCCESS),
        Wound::Late => Ok(ExitCode::FAILURE),
        Wound::Stopped => Ok(interrupted()),
    }
}

/// A server under way, and what ends with it.
struct Started {
    core: Core,
    telemetry: Telemetry,
    ledger: JoinHandle<((), ())>,
    ledger_end: CancellationToken,
    closing: CancellationToken,
    server: JoinHandle<()>,
}

/// Starts. Nothing is spawned before the last thing that is waited for, so that this can be given up anywhere.
async fn start(args: Serve) -> Result<Started, Failure> {
    let parsed = TokenMap::parse(environment::variable(name::INGRESS_TOKENS).as_deref());
    let mut plan = compose::plan(args.setup, &parsed.map, args.state_url.as_deref()).await?;
    plan.keeps_ledger = true;
    let mut telemetry = telemetry(&plan)?;
    if let Some(sink) = telemetry.take_span_sink() {
        ars_bot_ports::trace::set_sink(sink);
    }
    ars_bot_ports::metrics::describe();
    warn_of_what_is_off(&parsed, plan.has_model());
    let address = listen_address(args.listen)?;
    let listener = TcpListener::bind(address).await;
    let listener =
        listener.with_context(|| format!("{address} cannot be listened on")).map_err(Failure::Unavailable)?;
    let address = listener.local_addr().context("the listening address")?;
    let dashboard = std::mem::take(&mut plan.dashboard);
    let (core, _) = plan.build(args.store, args.state_url).await?;
    let ledger_end = CancellationToken::new();
    // Before the first request is taken: what another process left comes first.
    let ledger = tokio::spawn({
        let (core, end) = (core.clone(), ledger_end.clone());
        async move { tokio::join!(core.keep_ledger(end.clone()), core.keep_overrides(end)) }
    });
    let mut state = HttpState::new(core.clone(), Arc::new(parsed.map), build_stamp::build().clone());
    tracing::info!(mode = dashboard.mode(), "dashboard");
    state = state.with_dashboard(dashboard).with_crash(|| std::process::exit(CRASHED));
    if let Some(metrics) = telemetry.metrics().cloned() {
        state = state.with_metrics(move || metrics.render());
    }
    let closing = CancellationToken::new();
    let router = ars_bot_http::router(state);
    let server = tokio::spawn(ars_bot_http::serve(listener, router, closing.clone().cancelled_owned()));
    terminal::print(&format!("{}\n", serde_json::json!({ "listening": format!("http://{address}") })))?;
    tracing::info!(%address, "listening");
    Ok(Started { core, telemetry, ledger, ledger_end, closing, server })
}

/// Log lines, and what else the installation wants told to whom.
fn telemetry(plan: &compose::Plan) -> Result<Telemetry, Failure> {
    let (settings, spans) = (&plan.file.telemetry, plan.file.tracing);
    let version = env!("CARGO_PKG_VERSION");
    let options = Options::configured(settings, spans, environment::variable, version)
        .map_err(|error| Failure::InvalidInput(format!("configuration: {error}")))?;
    ars_bot_telemetry::start(Arc::clone(&plan.redactor), &options)
        .map_err(|error| Failure::InvalidInput(error.to_string()))
}

fn warn_of_what_is_off(tokens: &ParsedTokens, has_model: bool) {
    let variable = name::INGRESS_TOKENS;
    if let Some(fault) = tokens.fault {
        tracing::error!(variable, reason = %fault, "no ingress tokens: the endpoints are disabled");
    } else if tokens.map.is_empty() {
        tracing::warn!(variable, "no ingress tokens: the endpoints are disabled");
    }
    if !has_model {
        tracing::warn!("no model is configured: requests will be told so");
    }
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
