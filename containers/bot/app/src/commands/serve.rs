//! `ars serve`: serves requests over HTTP until a signal.

use std::{
    net::{Ipv4Addr, SocketAddr},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use ars_auth::{ParsedTokens, TokenMap};
use ars_bot_adapters::{
    egress::CONNECTION_FILES,
    residents::LocalTransport,
    workspace::{Confinement, GitWorkspaces},
};
use ars_bot_core::Core;
use ars_bot_http::{ConnectionLimits, HttpState};
use ars_bot_telemetry::{Telemetry, TelemetryOptions};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::TcpListener;

use super::{Failure, interrupted};
use crate::{
    args::Serve,
    build_stamp,
    compose::{self, Built, missing_origins},
    data_dir_lock::DataDirLock,
    environment::{self, name},
    secret_length,
    services::{
        self, DiskService, HttpService, LedgerService, MEASURE_INTERVAL, OverridesService,
        RequeueService, ScheduleService, Supervisor,
    },
    shutdown::{self, ShutdownCause, ShutdownOutcome},
    signals::{Signals, StopSignal},
    surfaces::Surfaces,
    terminal,
    tree_folder::TreeFolderLock,
};

/// Timeout for sending the last spans.
const TELEMETRY_LIMIT: Duration = Duration::from_secs(3);
/// Timeout for stopping the background services, which have little to do without work in flight.
const SERVICES_LIMIT: Duration = Duration::from_secs(2);
/// Exit code of a requested crash: that of a process killed by SIGKILL.
const CRASHED: i32 = 137;
/// Port when neither `--listen` nor `PORT` names one.
const DEFAULT_PORT: u16 = 8787;
/// Open files that the process needs beside those of connections and of the proxies of commands.
const MIN_OTHER_FILES: u64 = 256;

/// Serves.
pub async fn run(args: Serve) -> Result<ExitCode, Failure> {
    // First of all: the kernel discards a signal that the first process of a container does not handle.
    let mut signals = Signals::listen().context("signals")?;
    let started = tokio::select! {
        started = start(args) => started?,
        // No request was accepted yet.
        signal = signals.next() => return Ok(match signal {
            StopSignal::Terminate => ExitCode::SUCCESS,
            StopSignal::Interrupt => interrupted(),
        }),
    };
    let Started {
        core,
        telemetry,
        mut supervisor,
        surfaces,
        server,
        _data_dir,
        tree_folder: _locked,
    } = started;

    let cause = tokio::select! {
        signal = signals.next() => ShutdownCause::Signal(signal),
        service = supervisor.failure() => ShutdownCause::ServiceFailed(service),
    };
    surfaces.drain();
    let outcome = shutdown::shut_down(&core, &mut signals, cause, &server).await;
    supervisor.shut_down(SERVICES_LIMIT).await;
    telemetry.finish(TELEMETRY_LIMIT).await;
    Ok(match (cause, outcome) {
        (_, ShutdownOutcome::Stopped) => interrupted(),
        (ShutdownCause::Signal(_), ShutdownOutcome::Drained) => ExitCode::SUCCESS,
        (ShutdownCause::ServiceFailed(_), _) | (_, ShutdownOutcome::DeadlinePassed) => {
            ExitCode::FAILURE
        }
    })
}

/// A running server.
struct Started {
    core: Core,
    telemetry: Telemetry,
    supervisor: Supervisor,
    surfaces: Surfaces,
    server: services::Handle,
    /// Held until the process ends.
    _data_dir: Option<DataDirLock>,
    tree_folder: Option<TreeFolderLock>,
}

/// Starts the server. Spawns nothing before the last await, so that a signal can cancel it anywhere.
async fn start(args: Serve) -> Result<Started, Failure> {
    let parsed = TokenMap::parse(environment::variable(name::INGRESS_TOKENS).as_deref());
    let mut plan = compose::plan(args.setup, &parsed, args.state_url.as_deref()).await?;
    let tokens = Arc::new(parsed.map.clone());
    plan.serves = true;
    plan.tokens = Some(Arc::clone(&tokens));
    // Without a token its sender's queued requests would count as those of a removed one, and be dropped.
    plan.are_tokens_known = parsed.is_complete();
    let telemetry = telemetry(&plan)?;
    warn_of_disabled_parts(&parsed, &plan);
    let address = listen_address(args.listen)?;
    secret_length::check(address, &plan)?;
    let listener = listen(address).await?;
    let address = listener.local_addr().context("the listening address")?;
    let dashboard = std::mem::take(&mut plan.dashboard);
    let edge_secret = plan.edge_secret.take();
    let mut connections = plan.file.limits.of_connections();
    let streams = plan.file.limits.of_streams();
    allow_open_files(connections.max);
    let disk_limit = plan.file.limits.of_workspaces();
    let tree_folder = plan.lock_tree_folder()?;
    let data_dir = plan.data_dir.clone();
    let Built {
        core,
        workspaces,
        surfaces,
        connected,
        local_residents,
        are_stores_shared,
        ..
    } = plan.build(args.store, args.state_url).await?;
    // With the state Worker another process may follow this one on its trees (docs/reference/ledger.md).
    let data_dir = (!are_stores_shared)
        .then(|| DataDirLock::take(&data_dir))
        .transpose()?;
    let reported = report_sandbox(Arc::clone(&workspaces)).await;
    start_residents(local_residents).await;
    tracing::info!(mode = dashboard.mode(), "dashboard");
    read_peer_header(&mut connections)?;
    let mut state = HttpState::new(core.clone(), tokens, build_stamp::build().clone())
        .with_stream_limits(streams)
        .with_crash(|| std::process::exit(CRASHED))
        .with_dashboard(dashboard)
        .with_peer_header(connections.peer_header.clone())
        .with_edge_secret(edge_secret)
        .with_chat(surfaces.chat_probe());
    surfaces.report(&connected);
    if let Some(metrics) = telemetry.metrics().cloned() {
        state = state.with_metrics(move || metrics.render());
    }
    let mut supervisor = background_services(&core);
    if let Some(max_bytes) = disk_limit {
        supervisor.start(DiskService {
            core: core.clone(),
            workspaces,
            max_bytes,
            interval: MEASURE_INTERVAL,
        });
    }
    let server = supervisor.start(HttpService {
        listener,
        state,
        surfaces: surfaces.routes(&connected),
        limits: connections,
    });
    // Behind the HTTP server, so that the probe answers before a chat socket connects.
    surfaces.start(&core, &mut supervisor);
    print_address(address)?;
    reported.log(address, history(&core));
    Ok(Started {
        core,
        telemetry,
        supervisor,
        surfaces,
        server,
        _data_dir: data_dir,
        tree_folder,
    })
}

/// Prints where the server listens, for whatever started it.
fn print_address(address: SocketAddr) -> Result<(), Failure> {
    let listening = serde_json::json!({ "listening": format!("http://{address}") });
    Ok(terminal::print(&format!("{listening}\n"))?)
}

/// Starts the residents of this machine. Without them the service works on local trees.
async fn start_residents(residents: Option<Arc<LocalTransport>>) {
    if let Some(residents) = residents
        && let Err(error) = residents.start().await
    {
        tracing::error!(%error, "no resident is served");
    }
}

/// Starts the services that work without requests.
fn background_services(core: &Core) -> Supervisor {
    let mut supervisor = Supervisor::new();
    supervisor.start(RequeueService(core.clone()));
    // Before the first request: runs that another process left are reclaimed first.
    supervisor.start_any(LedgerService::from_core(core));
    supervisor.start_any(OverridesService::from_core(core));
    supervisor.start_any(ScheduleService::from_core(core));
    supervisor
}

/// Sets the header in which a proxy passes its client's address, if the environment names it.
fn read_peer_header(limits: &mut ConnectionLimits) -> Result<(), Failure> {
    let Some(text) = environment::variable(name::PEER_HEADER) else {
        return Ok(());
    };
    let header = text.trim().parse().map_err(|_| {
        let variable = name::PEER_HEADER;
        Failure::InvalidInput(format!("{variable} must be the name of a header"))
    })?;
    limits.peer_header = Some(header);
    Ok(())
}

/// Listens on an address.
async fn listen(address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen on {address}"))
        .map_err(Failure::Unavailable)
}

/// Returns what is kept of runs, for the log.
fn history(core: &Core) -> &'static str {
    match (core.store().keeps_records(), core.generation().is_some()) {
        (false, _) => "off",
        (true, false) => "records",
        (true, true) => "records and ledger",
    }
}

/// Starts telemetry as configured.
fn telemetry(plan: &compose::Plan) -> Result<Telemetry, Failure> {
    let (settings, spans) = (&plan.file.telemetry, plan.file.tracing);
    let version = env!("CARGO_PKG_VERSION");
    let options = TelemetryOptions::configured(settings, spans, environment::variable, version)
        .map_err(|error| Failure::InvalidInput(format!("configuration: {error}")))?;
    let mut telemetry = ars_bot_telemetry::start(Arc::clone(&plan.redactor), &options)
        .map_err(|error| Failure::InvalidInput(error.to_string()))?;
    if let Some(sink) = telemetry.take_span_sink() {
        ars_bot_ports::trace::set_sink(sink);
    }
    ars_bot_ports::metrics::describe();
    Ok(telemetry)
}

/// The confinement of commands, for the log.
struct Reported {
    sandbox: &'static str,
    network: &'static str,
    cgroup: &'static str,
    /// Why a stronger sandbox was skipped.
    skipped: Option<String>,
}

impl Reported {
    fn log(self, address: SocketAddr, history: &str) {
        let Self {
            sandbox,
            network,
            cgroup,
            skipped,
        } = self;
        tracing::info!(%address, sandbox, network, cgroup, skipped, history, "listening");
    }
}

/// Tries the sandbox out.
async fn report_sandbox(workspaces: Arc<GitWorkspaces>) -> Reported {
    let tried = Arc::clone(&workspaces);
    let confinement = tokio::task::spawn_blocking(move || tried.confinement()).await;
    match confinement.unwrap_or_else(|_| Err("the trial of the sandbox broke off".to_owned())) {
        Ok(Confinement {
            kind,
            network,
            gaps,
            skipped,
            cgroup,
            no_cgroup,
        }) => {
            for gap in gaps {
                tracing::warn!(%kind, network = network.as_str(), "{gap}");
            }
            if let Some(reason) = no_cgroup {
                tracing::info!(%reason, "runs have no control group");
            }
            if let Err(reason) = workspaces.try_proxy().await {
                tracing::error!(%reason, "commands have no network");
            }
            let (sandbox, network) = (kind.as_str(), network.as_str());
            Reported {
                sandbox,
                network,
                cgroup: cgroup.as_str(),
                skipped,
            }
        }
        Err(reason) => {
            tracing::warn!(%reason, "requests on repositories are refused");
            Reported {
                sandbox: "unavailable",
                network: "none",
                cgroup: "none",
                skipped: None,
            }
        }
    }
}

/// Raises the soft limit of open files to the hard one.
///
/// Connections would use up the descriptors of runs.
fn allow_open_files(connections: usize) {
    let own = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: own.maximum,
            ..own
        },
    ) {
        tracing::warn!(%error, "the limit of open files stays as it was");
    }
    let needed = (connections as u64).saturating_add(CONNECTION_FILES + MIN_OTHER_FILES);
    let is_scarce = getrlimit(Resource::Nofile)
        .current
        .is_some_and(|files| files < needed);
    if is_scarce && connections < usize::MAX {
        tracing::warn!(
            needed,
            "fewer files may be open than connections need: raise the limit (ulimit -n) or lower limits.connections"
        );
    }
}

fn warn_of_disabled_parts(tokens: &ParsedTokens, plan: &compose::Plan) {
    let variable = name::INGRESS_TOKENS;
    for (entry, reason) in &tokens.skipped {
        tracing::error!(variable, entry, %reason, "a token is skipped, so its callers are rejected");
    }
    if let Some(fault) = tokens.fault {
        let form = r#"it must be {"<token>":{"subject":"me"}}"#;
        tracing::error!(variable, reason = %fault, form, "no ingress tokens: the endpoints are disabled");
    } else if tokens.map.is_empty() {
        tracing::warn!(variable, "no ingress tokens: the endpoints are disabled");
    }
    if !tokens.is_complete() {
        tracing::error!(
            variable,
            "runs of other processes wait until every token is readable"
        );
    }
    for repository in missing_origins(&plan.settings) {
        tracing::warn!(
            repository,
            "the origin of a configured repository does not exist"
        );
    }
    if !plan.has_model() {
        let mend = plan.model_hint.as_deref();
        tracing::warn!(
            mend,
            "no model is configured: every request will be rejected"
        );
    }
}

fn listen_address(wanted: Option<SocketAddr>) -> Result<SocketAddr, Failure> {
    if let Some(address) = wanted {
        return Ok(address);
    }
    let port = match environment::variable(name::PORT) {
        Some(text) => text
            .trim()
            .parse()
            .map_err(|_| Failure::InvalidInput("PORT must be a port number".into()))?,
        None => DEFAULT_PORT,
    };
    Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
}
