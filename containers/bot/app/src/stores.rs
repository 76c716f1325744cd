//! Opens the stores: in the state Worker or in the data directory, behind the same ports.

use std::{net::Ipv4Addr, path::Path, sync::Arc};

use anyhow::Context as _;
use ars_auth::Secret;
use ars_bot_adapters::stores::{Client, Embedded, Proposal, Transport, Worker};
use ars_bot_core::{history::NoHistory, live::LiveStores};
use ars_bot_ports::{Clock as _, Documents, Memory, RunStore, Schedules};

use crate::{
    args::Store,
    clock::SystemClock,
    commands::Failure,
    config::{self, HistoryStore, RunHistory},
};

/// How much of a run the stores keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// Run history is off.
    Nothing,
    /// Records only. A run ends with the process.
    Records,
    /// Records, and the live run ledger.
    RecordsAndLedger,
}

/// Stores that this process uses.
pub struct Stores {
    /// Durable history for runs.
    pub runs: Arc<dyn RunStore>,
    /// Stores for live runs.
    pub live: LiveStores,
    /// Memory that lasts across runs.
    pub memory: Arc<dyn Memory>,
    /// Configuration documents by key.
    pub documents: Arc<dyn Documents>,
    /// The store for schedule firings.
    pub schedules: Arc<dyn Schedules>,
    /// How the stores keep runs.
    pub kept: Kept,
    /// The stores are the state Worker's, which the next process reaches too.
    pub are_shared: bool,
}

/// Where the stores are configured to be.
pub struct Place<'a> {
    /// Value of the `--store` option.
    pub wanted: Option<Store>,
    /// Value of the `--state-url` option.
    pub state_url: Option<String>,
    /// The state Worker's bearer.
    pub token: Option<&'a Secret>,
    /// Path to the data directory.
    pub data_dir: &'a Path,
    /// Record limit in a memory scope.
    pub memory_cap: u32,
}

impl Stores {
    /// Opens the stores. The command line wins over the file; the default is the data directory.
    pub fn open(history: &RunHistory, place: &Place<'_>) -> Result<Self, Failure> {
        let policy = history
            .policy()
            .map_err(|error| Failure::InvalidInput(format!("configuration: {error}")))?;
        let proposal = policy.map(|policy| Proposal {
            policy,
            updated_at: SystemClock.now(),
        });
        let to_worker = match place.wanted {
            Some(Store::Embedded) if place.state_url.is_some() => {
                let words =
                    "--state-url is the state Worker's: it does not go with --store embedded";
                return Err(Failure::InvalidInput(words.into()));
            }
            Some(store) => store == Store::Worker,
            // With an address the Worker is used even without history: it also has memory and documents.
            None => place.state_url.is_some() || history.store == Some(HistoryStore::Worker),
        };
        let transport: Arc<dyn Transport> = if to_worker {
            Arc::new(worker(history, place)?)
        } else {
            let embedded =
                Embedded::open(place.data_dir, Arc::new(SystemClock)).with_context(|| {
                    format!(
                        "the data directory {} cannot be used",
                        place.data_dir.display()
                    )
                });
            Arc::new(embedded.map_err(Failure::Unavailable)?)
        };
        let client =
            Client::over(decorated(transport)?, proposal)?.with_memory_cap(place.memory_cap);
        Ok(Self::from_client(
            client,
            Kept::choose(history.store, to_worker),
            to_worker,
        ))
    }

    /// Moves memory to a separate Worker (`memory.worker`).
    pub fn keep_memory_in(
        &mut self,
        worker: &config::Worker,
        token: Option<&Secret>,
        cap: u32,
    ) -> Result<(), Failure> {
        self.memory = Arc::new(client("memory.worker", worker, token)?.with_memory_cap(cap));
        Ok(())
    }

    /// Reads firings from their own Worker (`schedules.worker`).
    pub fn read_schedules_from(
        &mut self,
        worker: &config::Worker,
        token: Option<&Secret>,
    ) -> Result<(), Failure> {
        self.schedules = Arc::new(client("schedules.worker", worker, token)?);
        Ok(())
    }

    fn from_client(client: Client<Arc<dyn Transport>>, kept: Kept, are_shared: bool) -> Self {
        let client = Arc::new(client);
        let live = LiveStores {
            ledger: client.clone(),
            transcripts: client.clone(),
        };
        let documents = client.clone();
        let schedules = client.clone();
        let runs: Arc<dyn RunStore> = if kept == Kept::Nothing {
            Arc::new(NoHistory)
        } else {
            client.clone()
        };
        Self {
            runs,
            live,
            documents,
            schedules,
            memory: client,
            kept,
            are_shared,
        }
    }
}

impl Kept {
    /// Chooses by `runHistory.store`. Only `none` and `file` have no ledger.
    ///
    /// If `--store` or `--state-url` sends the records to a Worker, `file` has a ledger too.
    fn choose(configured: Option<HistoryStore>, to_worker: bool) -> Self {
        match configured {
            Some(HistoryStore::None) => Self::Nothing,
            Some(HistoryStore::File) if !to_worker => Self::Records,
            Some(_) | None => Self::RecordsAndLedger,
        }
    }
}

/// Returns a client for a Worker with a separate key in the configuration.
fn client(
    key: &str,
    worker: &config::Worker,
    token: Option<&Secret>,
) -> Result<Client<Arc<dyn Transport>>, Failure> {
    let invalid = |words: &str| Failure::InvalidInput(format!("configuration: {key}.{words}"));
    if !is_private(&worker.base_url) {
        return Err(invalid(
            "baseUrl: must begin with https:// (http:// only for this machine)",
        ));
    }
    let token = token
        .ok_or_else(|| invalid("tokenEnv: the bearer it names, or MEMORY_TOKEN, is not set"))?;
    let transport = decorated(Arc::new(Worker::at(&worker.base_url, token)?))?;
    Ok(Client::over(transport, None)?)
}

/// Returns the transport with the kill points of drills.
#[cfg(feature = "kill-points")]
fn decorated(transport: Arc<dyn Transport>) -> Result<Arc<dyn Transport>, Failure> {
    crate::kill_points::arm_transport(transport)
}

/// Returns the transport unchanged.
#[cfg(not(feature = "kill-points"))]
fn decorated(transport: Arc<dyn Transport>) -> Result<Arc<dyn Transport>, Failure> {
    Ok(transport)
}

fn worker(history: &RunHistory, place: &Place<'_>) -> Result<Worker, Failure> {
    let configured = || {
        history
            .worker
            .as_ref()
            .map(|worker| worker.base_url.clone())
    };
    let url = place.state_url.clone().or_else(configured).ok_or_else(|| {
        Failure::InvalidInput(
            "the state Worker's address is missing: give --state-url or runHistory.worker.baseUrl"
                .into(),
        )
    })?;
    require_private(&url)?;
    let token = place.token.ok_or_else(|| {
        Failure::InvalidInput(
            "the state Worker's bearer is missing: set MEMORY_TOKEN (or runHistory.worker.tokenEnv)".into(),
        )
    })?;
    Ok(Worker::at(&url, token)?)
}

/// The name of this machine in a container. `.internal` is reserved, so no public host has it.
const CONTAINER_HOST: &str = "host.docker.internal";

/// Rejects an address to which a bearer must not be sent.
pub fn require_private(url: &str) -> Result<(), Failure> {
    if is_private(url) {
        return Ok(());
    }
    Err(Failure::InvalidInput(
        "the state Worker's address must begin with https:// (http:// only for this machine)"
            .into(),
    ))
}

/// Returns whether a bearer may be sent to an address: encrypted, or within this machine. Uses the
/// parsed URL, because the host in `http://127.0.0.1:80@elsewhere` is `elsewhere`.
pub fn is_private(url: &str) -> bool {
    let Ok(parsed) = reqwest::Url::parse(url) else {
        return false;
    };
    let bare = parsed.username().is_empty() && parsed.password().is_none();
    bare && (parsed.scheme() == "https" || (parsed.scheme() == "http" && is_local(url)))
}

/// Returns whether an address's host is this machine, or the machine around this container.
pub fn is_local(url: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(url) else {
        return false;
    };
    match url.host_str() {
        Some("localhost" | "[::1]" | CONTAINER_HOST) => true,
        Some(host) => host
            .parse::<Ipv4Addr>()
            .is_ok_and(|address| address.is_loopback()),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_private;

    #[test]
    fn bearer_is_sent_only_encrypted_or_locally() {
        for url in [
            "https://x.example",
            "http://127.0.0.1:8788",
            "http://localhost",
            "http://[::1]:1/",
            "http://host.docker.internal:8788",
        ] {
            assert!(is_private(url), "{url}");
        }
        for url in "http://x.example|http://127.0.0.1.example|http://host.docker.internal.example|\
            http://localhost@x.example|http://127.0.0.1:80@x.example|https://u:p@x.example|\
            ftp://127.0.0.1|"
            .split('|')
        {
            assert!(!is_private(url), "{url}");
        }
    }
}
