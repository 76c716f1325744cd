//! The edge Worker as it is deployed, in front of a bot on this machine.

use std::net::SocketAddr;
use std::sync::OnceLock;

use ars_workerd::{Bot, Built, NpmTools, Settings, Workerd, build_edge_worker, ensure_npm};
use serde_json::json;
use tempfile::TempDir;

/// A running edge. Dropped, it is gone.
pub struct Edge {
    workerd: Workerd,
    _data: TempDir,
}

impl Edge {
    /// The one ingress token, of a subject that may restart the bot.
    pub const TOKEN: &str = "a-token-of-tests";

    /// Starts it before the bot at this address.
    pub fn before(bot: &str) -> Self {
        let data = tempfile::tempdir().expect("a temporary directory");
        let settings = Settings::edge(npm(), built(), data.path(), Bot::Native(bot.to_owned()));
        let tokens = json!({ Self::TOKEN: { "subject": "ann", "scopes": ["dispatch", "deploy:write"] } });
        let settings =
            settings.expect("readable settings").secret("SERVICE_INGRESS_TOKENS", &tokens.to_string());
        Self { workerd: Workerd::start(&settings).expect("workerd starts"), _data: data }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.workerd.address()
    }

    /// Bytes by which its memory grows at most while something is done.
    pub fn peak_of(&self, work: impl FnOnce()) -> usize {
        ars_tests_workerd::peak_of(&self.workerd, work)
    }
}

/// The edge Worker's build.
pub(crate) fn built() -> &'static Built {
    static BUILT: OnceLock<Built> = OnceLock::new();
    BUILT.get_or_init(|| build_edge_worker(&|line| eprintln!("{line}")).expect("the edge Worker builds"))
}

/// The runtime.
pub(crate) fn npm() -> &'static NpmTools {
    static NPM: OnceLock<NpmTools> = OnceLock::new();
    NPM.get_or_init(|| ensure_npm(&|line| eprintln!("{line}")).expect("npm packages"))
}
