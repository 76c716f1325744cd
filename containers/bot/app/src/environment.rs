//! The process environment. Only this module reads it.

use std::{
    ffi::OsString,
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use ars_bot_adapters::upstream::UpstreamProxy;

/// Names used in several places.
pub mod name {
    /// The ingress token map.
    pub const INGRESS_TOKENS: &str = "SERVICE_INGRESS_TOKENS";
    /// Base URL for run links.
    pub const PUBLIC_BASE_URL: &str = "PUBLIC_BASE_URL";
    /// Header in which a trusted proxy states the caller's address.
    pub const PEER_HEADER: &str = "PEER_HEADER";
    /// State Worker bearer, unless the configuration names another variable.
    pub const MEMORY_TOKEN: &str = "MEMORY_TOKEN";
    /// Resident Worker bearer for operators, unless the configuration names another variable.
    pub const RESIDENT_OPERATOR_TOKEN: &str = "RESIDENT_OPERATOR_TOKEN";
    /// Resident Worker bearer for administrators, unless the configuration names another variable.
    pub const RESIDENT_ADMIN_TOKEN: &str = "RESIDENT_ADMIN_TOKEN";
    /// Folder that contains the skills.
    pub const SKILLS_DIR: &str = "SERVICE_SKILLS_DIR";
    /// Program for reviews' reading diffs, in place of the configured program.
    pub const READING_DIFF: &str = "SERVICE_READING_DIFF";
    /// Key for the web search.
    pub const BRAVE_SEARCH_API_KEY: &str = "BRAVE_SEARCH_API_KEY";
    /// Address of a search server other than Brave's.
    pub const BRAVE_SEARCH_BASE_URL: &str = "BRAVE_SEARCH_BASE_URL";
    /// Id of the GitHub App.
    pub const GITHUB_APP_ID: &str = "GITHUB_APP_ID";
    /// Id of the app's installation.
    pub const GITHUB_APP_INSTALLATION_ID: &str = "GITHUB_APP_INSTALLATION_ID";
    /// The app's private key, in PEM.
    pub const GITHUB_APP_PRIVATE_KEY: &str = "GITHUB_APP_PRIVATE_KEY";
    /// Plain code host token, used without an app.
    pub const GH_TOKEN: &str = "GH_TOKEN";
    /// Address of an enterprise's own code host.
    pub const GITHUB_BASE_URL: &str = "GITHUB_BASE_URL";
    /// Secret that signs code host webhooks. Without it they are off.
    pub const GITHUB_WEBHOOK_SECRET: &str = "GITHUB_WEBHOOK_SECRET";
    /// Slack bot token, for the Web API.
    pub const SLACK_BOT_TOKEN: &str = "SLACK_BOT_TOKEN";
    /// Slack app token, for the event socket.
    pub const SLACK_APP_TOKEN: &str = "SLACK_APP_TOKEN";
    /// Address of Slack's Web API.
    pub const SLACK_BASE_URL: &str = "SLACK_BASE_URL";
    /// File with the build's commit and time.
    pub const BUILD_STAMP: &str = "ARS_BUILD_STAMP";
    /// State Worker address: the default for `--state-url`.
    pub const STATE_WORKER_URL: &str = "STATE_WORKER_URL";
    /// Default for the `--config` option.
    pub const CONFIG: &str = "SERVICE_CONFIG";
    /// Hosts to which a state Worker document may send secrets.
    pub const CONFIG_HOSTS: &str = "CONFIG_HOSTS";
    /// `any` lets a state Worker document weaken the sandbox.
    pub const CONFIG_SANDBOX: &str = "CONFIG_SANDBOX";
    /// Default for the `--data-dir` option.
    pub const DATA_DIR: &str = "ARS_DATA_DIR";
    /// Default for the `--server` option.
    pub const SERVER: &str = "ARS_SERVER";
    /// The token for the service at `--server`.
    pub const TOKEN: &str = "ARS_TOKEN";
    /// Default port to listen on.
    pub const PORT: &str = "PORT";
}

/// Returns a variable that is set, not blank, and valid text.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name)
        .ok()
        .filter(|value| !value.trim().is_empty())
}

/// Returns a variable as the operating system stores it.
pub fn raw(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// Returns the proxy in the service's own network, which is read once.
pub fn upstream() -> Arc<UpstreamProxy> {
    static UPSTREAM: OnceLock<Arc<UpstreamProxy>> = OnceLock::new();
    Arc::clone(UPSTREAM.get_or_init(|| Arc::new(UpstreamProxy::from_service(raw))))
}

/// Returns `ars` in the user's data directory (XDG); `None` without a home directory.
pub fn user_data_dir() -> Option<PathBuf> {
    // The XDG base directory rules ignore relative paths.
    let absolute = |name: &str| {
        raw(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let data =
        absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")))?;
    Some(data.join("ars"))
}
