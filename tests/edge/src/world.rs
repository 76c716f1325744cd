//! Surroundings for a bot in its container: engine, image, edge Worker, state Worker and vendor.
//!
//! The container reaches this machine through the engine's address. Each world's edge has its own
//! name, so its container does too.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use ars_engine::{Container, Engine, Image, address_for_containers, bot_image, stamped_again};
use ars_testkit::{FakeAnthropic, Reply};
use ars_tests_workerd::{
    Answer, Client, Running, TOKEN as STATE_TOKEN, edge_worker_build, npm, relay, state_worker,
};
use ars_workerd::{Bot, Settings, Workerd};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::{TOKEN, tokens};

/// Longest wait for anything in a world; only a hang reaches it.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Between two looks at a condition.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Store for the bot's runs.
const STORE: &str = "runs:default";
/// The shortest lease that the ledger accepts.
const SHORTEST_LEASE_MS: u64 = 1_000;
/// The variable by which the edge knows the image's version.
const VERSION: &str = "BOT_IMAGE";
/// Secret for the run pages.
pub const VIEWER: &str = "canary-viewer-5b1e20c4";
/// The configuration that the bot reads from the state Worker at startup.
const CONFIGURATION: &str = r#"
[dashboard]
auth = "token"
token = { actor = "access:viewer" }

[grants."access:viewer"]
actions = ["runs:read", "runs:write"]
channels = "all"
"#;
/// The key the vendor is asked with; found nowhere else.
pub const VENDOR_KEY: &str = "canary-vendor-93d1f0a7";

/// Numbers the worlds in a process.
static WORLDS: AtomicU32 = AtomicU32::new(0);

/// A bot's container with everything around it.
pub struct World {
    /// The container engine.
    pub engine: Arc<Engine>,
    /// The bot's image.
    pub image: Image,
    other: Option<Image>,
    /// Prefix for the names of the world's containers, which no other world has.
    pub containers: String,
    /// Speaks to the edge.
    pub client: Client,
    edge: Option<Workerd>,
    settings: Settings,
    state: Running,
    _vendor: FakeAnthropic,
    // Dropped after the parts that run on it.
    _runtime: Runtime,
    _data: TempDir,
}

impl World {
    /// Starts everything and waits until the bot answers through the edge; returns how long that took.
    /// The time counts from the edge's start. The vendor answers by looking at the request.
    pub fn start(answer: impl Fn(&Value) -> Reply + Send + Sync + 'static) -> (Self, Duration) {
        let print = |line: &str| eprintln!("{line}");
        let engine = Engine::ensure(&print).expect("a container engine");
        let image = bot_image(&engine, &print).expect("the bot's image");
        let runtime = Runtime::new().expect("a runtime");
        let vendor = runtime.block_on(FakeAnthropic::answering(answer));
        let state = state_worker();
        let document =
            json!({ "key": "base", "document": { "toml": CONFIGURATION }, "expectedVersion": 0 });
        let put = state.client.post("/config/put", STATE_TOKEN, &document);
        assert_eq!(put.status, 200, "{:?}", put.body);
        let data = tempfile::tempdir().expect("a temporary directory");
        let reach = |target: SocketAddr| {
            address_for_containers(
                relay(IpAddr::V4(engine.gateway()), target).expect("a port for containers"),
            )
        };
        let vendor_address = vendor
            .url()
            .trim_start_matches("http://")
            .parse()
            .expect("an address");
        let mut settings = Settings::edge(
            npm(),
            edge_worker_build(),
            data.path(),
            Bot::Container(engine.of_edge(&image)),
        )
        .expect("readable settings")
        .secret("SERVICE_INGRESS_TOKENS", &tokens())
        .secret("MEMORY_TOKEN", STATE_TOKEN)
        .secret("DASHBOARD_TOKEN", VIEWER)
        .secret("SERVICE_CONFIG", "state://base")
        .secret("STATE_WORKER_URL", &reach(state.client.address()))
        .secret("ANTHROPIC_API_KEY", VENDOR_KEY)
        .secret("ANTHROPIC_BASE_URL", &reach(vendor_address));
        let name = format!(
            "ars-proof-{}-{}",
            std::process::id(),
            WORLDS.fetch_add(1, Ordering::Relaxed)
        );
        settings.wrangler.name.clone_from(&name);
        settings.awaits_health = false;
        let began = Instant::now();
        let edge = Workerd::start(&settings).expect("workerd starts");
        let world = Self {
            engine: Arc::new(engine),
            image,
            other: None,
            containers: format!("workerd-{name}-"),
            client: Client::new(edge.address()),
            edge: Some(edge),
            settings,
            state,
            _vendor: vendor,
            _runtime: runtime,
            _data: data,
        };
        world.healthy("the bot is up", |_| true);
        (world, began.elapsed())
    }

    /// Where the edge listens.
    pub fn address(&self) -> SocketAddr {
        self.client.address()
    }

    /// Kills the edge's runtime and starts it again with this image, as a deployment does.
    /// The container keeps running.
    pub fn deploy(&mut self, image: &Image) {
        drop(self.edge.take());
        let is_version = |(name, _): &(String, String)| name == VERSION;
        self.settings.secrets.retain(|secret| !is_version(secret));
        self.settings
            .secrets
            .push((VERSION.to_owned(), image.name.clone()));
        self.settings.engine = Some(self.engine.of_edge(image));
        let edge = Workerd::start(&self.settings).expect("workerd starts again");
        self.client = Client::new(edge.address());
        self.edge = Some(edge);
    }

    /// Builds the same image with another commit's stamp.
    pub fn another_image(&mut self, commit: &str) -> Image {
        let name = format!("ars-bot:{}", self.settings.wrangler.name);
        let other = stamped_again(&self.engine, &self.image, &name, commit).expect("another image");
        self.other = Some(other.clone());
        other
    }

    /// The edge's only running container.
    pub fn container(&self) -> Container {
        let listed = self
            .engine
            .containers_named(&self.containers)
            .expect("a list of containers");
        let mut running = listed.into_iter().filter(|found| found.running);
        let container = running.next().expect("a running container");
        assert_eq!(running.next(), None, "two containers");
        container
    }

    /// Speaks to the bot in the container, past the edge.
    pub fn direct(&self) -> Client {
        let port = self.engine.port(&self.container().id).expect("a port");
        Client::new(SocketAddr::from(([127, 0, 0, 1], port)))
    }

    /// Waits until the bot's health is as wanted; the health.
    pub fn healthy(&self, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let began = Instant::now();
        loop {
            let answer = self.client.try_send("GET", "/healthz", &[], b"").ok();
            match answer {
                Some(Answer {
                    status: 200, body, ..
                }) if holds(&body) => return body,
                other => {
                    assert!(
                        began.elapsed() < TIMEOUT,
                        "not in time: {what}: {other:?}\n{}",
                        self.log()
                    );
                }
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Waits until a bot that was started later than this answers and does not drain.
    pub fn started_after(&self, earlier: &Value) -> Value {
        self.healthy("a later bot is up", |health| {
            health["startedAt"].as_str() > earlier["startedAt"].as_str()
                && health["draining"] == json!(false)
        })
    }

    /// Asks the bot for work through the edge.
    pub fn ask(&self, body: &Value) -> Answer {
        self.client.post("/ingress", TOKEN, body)
    }

    /// Posts to an admin route through the edge.
    pub fn admin(&self, route: &str, body: &Value) -> Answer {
        self.client.post(route, TOKEN, body)
    }

    /// Requests the bot's health, whatever the result.
    pub fn tick(&self) {
        drop(self.client.try_send("GET", "/healthz", &[], b""));
    }

    /// Waits until a condition on the stores holds.
    pub fn until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let began = Instant::now();
        while !holds(self) {
            assert!(
                began.elapsed() < TIMEOUT,
                "not in time: {what}\n{}",
                self.log()
            );
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Asks a route of the run store.
    pub fn stored(&self, route: &str, body: Value) -> Value {
        let answer = self.asked(route, body);
        assert_eq!(answer.status, 200, "{route}: {:?}", answer.body);
        answer.body
    }

    fn asked(&self, route: &str, mut body: Value) -> Answer {
        body["storeKey"] = json!(STORE);
        self.state.client.post(route, STATE_TOKEN, &body)
    }

    /// Live runs, as rows.
    pub fn live(&self) -> Vec<Value> {
        self.stored("/runs/live", json!({}))["runs"]
            .as_array()
            .cloned()
            .unwrap_or_default()
    }

    /// Records, whole, newest first.
    pub fn records(&self) -> Vec<Value> {
        let page = self.stored("/runs/list", json!({}));
        let ids = page["items"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|item| item["id"].clone());
        ids.map(|id| self.stored("/runs/get", json!({ "id": id }))["record"].clone())
            .collect()
    }

    /// Shortens live runs' leases in their dead owner's name, so that no test waits for them. A run
    /// that was reclaimed has another owner and is skipped.
    pub fn shorten_leases(&self) {
        for run in self.live() {
            let body = json!({ "runId": run["runId"], "gen": run["ownerGen"], "leaseMs": SHORTEST_LEASE_MS });
            let answer = self.asked("/runs/heartbeat", body);
            assert!([200, 409].contains(&answer.status), "{:?}", answer.body);
        }
    }

    /// Returns the output from the edge and from the bot, if it runs.
    pub fn log(&self) -> String {
        let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
        let edge = self
            .edge
            .as_ref()
            .map(|edge| read(edge.log_path()))
            .unwrap_or_default();
        let listed = self
            .engine
            .containers_named(&self.containers)
            .unwrap_or_default();
        let bots: Vec<_> = listed
            .iter()
            .filter_map(|found| self.engine.logs(&found.id).ok())
            .collect();
        format!("edge:\n{edge}\nbot:\n{}", bots.join("\n---\n"))
    }
}

impl Drop for World {
    fn drop(&mut self) {
        drop(self.edge.take());
        for container in self
            .engine
            .containers_named(&self.containers)
            .unwrap_or_default()
        {
            // A remaining container has an ended process's name and is harmless.
            let _ = self.engine.remove(&container.id);
        }
        if let Some(other) = &self.other {
            // As above.
            let _ = self.engine.forget(other);
        }
    }
}
