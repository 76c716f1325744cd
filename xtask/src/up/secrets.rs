//! An installation's tokens: made once, kept in a private folder; the environment's own win.
//!
//! The folder is not the data directory, because working trees and run records are there. The run
//! pages' secret is made at every start and not stored. It is also the operator's ingress token, so
//! a single token opens everything.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use ars_auth::TokenMap;
use ars_workerd::RESIDENT_TOKENS;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::data_dir::{DataDir, write_private};
use super::environment::set;

/// The bot's variable for ingress tokens.
pub const INGRESS_TOKENS: &str = "SERVICE_INGRESS_TOKENS";
/// The state Worker's, and the bot's to reach it.
pub const MEMORY_TOKEN: &str = "MEMORY_TOKEN";
/// The run pages' secret in mode `token`.
pub const DASHBOARD_TOKEN: &str = "DASHBOARD_TOKEN";

/// Random bytes in a token.
const TOKEN_BYTES: usize = 24;
/// The scope that allows a token to start runs.
const DISPATCH: &str = "dispatch";
/// The file. Former versions kept it in the data directory.
const FILE: &str = "secrets.json";

/// An ingress token, and whom it stands for. No `Debug`: it holds a secret.
#[derive(Clone, Serialize)]
pub struct Token {
    /// The bearer that callers send.
    pub token: String,
    /// Whom it stands for.
    pub subject: String,
    /// The channel it is pinned to.
    pub channel: Option<String>,
    /// Scopes that it grants.
    pub scopes: Vec<String>,
}

/// The resident Worker's bearers. No `Debug`: it holds secrets.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ResidentTokens {
    /// The administrators' bearer token.
    pub admin: String,
    /// The operators' bearer token.
    pub operator: String,
    /// The readers' bearer token.
    pub read: String,
}

impl ResidentTokens {
    /// Returns them in the order that [`RESIDENT_TOKENS`] has.
    pub fn all(&self) -> [&str; 3] {
        [&self.admin, &self.operator, &self.read]
    }

    /// Returns the bot's variables. It has no reader bearer.
    pub fn of_bot(&self) -> [(&'static str, &str); 2] {
        let [admin, operator, _] = RESIDENT_TOKENS;
        [(admin, &self.admin), (operator, &self.operator)]
    }
}

/// All tokens. No `Debug`: it holds secrets.
pub struct Secrets {
    /// Opens the state Worker.
    pub state: String,
    /// Opens the run pages in mode `token`.
    pub dashboard: String,
    /// Open the resident Worker.
    pub residents: ResidentTokens,
    /// The ingress token map as the bot reads it.
    pub ingress: String,
    /// The map's tokens, by name.
    pub tokens: BTreeMap<String, Token>,
}

/// Content of the token file.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Kept {
    state: String,
    ingress: BTreeMap<String, String>,
    residents: ResidentTokens,
}

/// The tokens that are made: each for a way in which a caller can be limited.
const MADE: [(&str, Option<&str>, &[&str]); 4] = [
    ("demo", None, &[DISPATCH]),
    (OPERATOR, None, COMMANDS),
    ("pinned", Some("pinned"), &[DISPATCH]),
    ("reader", None, &["runs:read"]),
];
/// The token that may also invoke commands.
const OPERATOR: &str = "operator";
/// Scopes that it grants.
const COMMANDS: &[&str] = &[
    DISPATCH,
    "help:read",
    "status:read",
    "config:read",
    "config:write",
    "runs:read",
    "runs:write",
    "memory:read",
    "memory:write",
    "friction:read",
    "schedule:read",
    "repo:read",
    "repo:write",
    "repo:exec",
];

impl Secrets {
    /// Reads the stored tokens and creates missing ones; the environment takes precedence.
    pub fn load(data: &DataDir) -> Result<Self> {
        let folder = folder(data, |name| std::env::var_os(name).map(PathBuf::from))?;
        Self::choose(kept(data, &folder)?, random()?, set)
    }

    fn choose(
        kept: Kept,
        dashboard: String,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self> {
        let state = variable(MEMORY_TOKEN).unwrap_or(kept.state);
        // People who only view the run pages may know a configured secret.
        let of_start = dashboard.clone();
        let dashboard = variable(DASHBOARD_TOKEN).unwrap_or(dashboard);
        let made = kept.residents;
        let [admin, operator, read] = RESIDENT_TOKENS.map(&variable);
        let residents = ResidentTokens {
            admin: admin.unwrap_or(made.admin),
            operator: operator.unwrap_or(made.operator),
            read: read.unwrap_or(made.read),
        };
        if let Some(ingress) = variable(INGRESS_TOKENS) {
            let parsed = TokenMap::parse(Some(&ingress));
            if let Some(fault) = parsed.fault {
                bail!("{INGRESS_TOKENS} is {fault}: correct it or unset it");
            }
            return Ok(Self {
                state,
                dashboard,
                residents,
                tokens: listed(&parsed.map),
                ingress,
            });
        }
        let made = MADE.iter().filter_map(|(name, channel, scopes)| {
            let own = (*name == OPERATOR).then(|| of_start.clone());
            let token = own.or_else(|| kept.ingress.get(*name).cloned())?;
            let scopes = scopes.iter().map(|scope| (*scope).to_owned()).collect();
            let channel = channel.map(str::to_owned);
            Some((
                (*name).to_owned(),
                Token {
                    token,
                    subject: (*name).to_owned(),
                    channel,
                    scopes,
                },
            ))
        });
        let tokens: BTreeMap<_, _> = made.collect();
        let ingress = Value::Object(tokens.values().map(entry).collect::<Map<_, _>>()).to_string();
        Ok(Self {
            state,
            dashboard,
            residents,
            ingress,
            tokens,
        })
    }

    /// The token that may invoke commands, if it was made here.
    pub fn operator(&self) -> Option<&Token> {
        self.tokens.get(OPERATOR)
    }

    /// Returns a token that may start runs, in any channel if there is such a token.
    pub fn caller(&self) -> Option<&Token> {
        let may = || {
            self.tokens
                .values()
                .filter(|token| token.scopes.iter().any(|scope| scope == DISPATCH))
        };
        may()
            .find(|token| token.channel.is_none())
            .or_else(|| may().next())
    }
}

/// Returns the folder with a data directory's tokens (XDG), which only the user may open.
fn folder(data: &DataDir, variable: impl Fn(&str) -> Option<PathBuf>) -> Result<PathBuf> {
    let absolute = |name: &str| variable(name).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")));
    let own = state
        .context("HOME is not set: there is no folder for tokens")?
        .join("ars-up");
    let folder = own.join(data.edge_name());
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder)
        .with_context(|| format!("cannot create {}", folder.display()))?;
    fs::set_permissions(&own, fs::Permissions::from_mode(0o700))?;
    Ok(folder)
}

fn kept(data: &DataDir, folder: &Path) -> Result<Kept> {
    let (path, former) = (folder.join(FILE), data.join(FILE));
    if !path.exists() && former.exists() {
        write_private(&path, &fs::read_to_string(&former)?)?;
    }
    match fs::remove_file(&former) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("cannot remove {}", former.display()));
        }
        _ => {}
    }
    let mut kept: Kept = match fs::read_to_string(&path) {
        Ok(text) => {
            serde_json::from_str(&text).with_context(|| format!("{} is damaged", path.display()))?
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Kept::default(),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    let mut grown = false;
    grown |= kept.ingress.remove(OPERATOR).is_some();
    let is_missing = |name: &str| name != OPERATOR && !kept.ingress.contains_key(name);
    let missing = MADE
        .iter()
        .filter(|(name, ..)| is_missing(name))
        .collect::<Vec<_>>();
    for (name, ..) in missing {
        kept.ingress.insert((*name).to_owned(), random()?);
        grown = true;
    }
    let Kept {
        state, residents, ..
    } = &mut kept;
    let ResidentTokens {
        admin,
        operator,
        read,
    } = residents;
    for token in [state, admin, operator, read]
        .into_iter()
        .filter(|token| token.is_empty())
    {
        *token = random()?;
        grown = true;
    }
    if grown {
        write_private(&path, &serde_json::to_string_pretty(&kept)?)?;
    }
    Ok(kept)
}

fn random() -> Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| anyhow!("no randomness: {error}"))?;
    Ok(hex::encode(bytes))
}

/// Returns the entries that the bot accepts, by subject; equal subjects are numbered.
fn listed(map: &TokenMap) -> BTreeMap<String, Token> {
    let mut tokens = BTreeMap::new();
    for secret in map.secrets() {
        let Some(entry) = map.authenticate(secret.expose()) else {
            continue;
        };
        let names = (1..).map(|n| {
            if n == 1 {
                entry.subject.clone()
            } else {
                format!("{}-{n}", entry.subject)
            }
        });
        let name = names
            .into_iter()
            .find(|name| !tokens.contains_key(name))
            .unwrap_or_default();
        let token = Token {
            token: secret.expose().to_owned(),
            subject: entry.subject.clone(),
            channel: entry.channel.as_ref().map(ToString::to_string),
            scopes: entry.scopes.clone(),
        };
        tokens.insert(name, token);
    }
    tokens
}

fn entry(token: &Token) -> (String, Value) {
    let mut entry = json!({"subject": token.subject, "scopes": token.scopes});
    if let Some(channel) = &token.channel {
        entry["channel"] = json!(channel);
    }
    (token.token.clone(), entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data() -> (tempfile::TempDir, DataDir) {
        let dir = tempfile::tempdir().unwrap();
        let data = DataDir::claim(Some(dir.path())).unwrap();
        (dir, data)
    }

    #[test]
    fn tokens_are_made_once_and_kept() {
        let (dir, data) = data();
        let folder = folder(&data, |name| {
            (name == "HOME").then(|| dir.path().join("home"))
        })
        .unwrap();
        let load =
            || Secrets::choose(kept(&data, &folder).unwrap(), random().unwrap(), |_| None).unwrap();
        let (first, second) = (load(), load());
        assert_eq!(
            (&first.state, &first.tokens["demo"].token),
            (&second.state, &second.tokens["demo"].token)
        );
        assert_eq!(first.tokens["operator"].token, first.dashboard);
        assert_eq!(first.residents.all(), second.residents.all());
        assert_ne!(first.dashboard, second.dashboard, "it is of one start");
        assert_eq!(
            [first.state.len(), first.dashboard.len()],
            [2 * TOKEN_BYTES; 2]
        );
        let text = fs::read_to_string(folder.join(FILE)).unwrap();
        assert!(text.contains(&first.state) && !text.contains(&first.dashboard));
        let parsed = TokenMap::parse(Some(&first.ingress)).map;
        let pinned = parsed.authenticate(&first.tokens["pinned"].token).unwrap();
        assert_eq!(
            (
                pinned.subject.as_str(),
                pinned.channel.as_ref().map(ToString::to_string)
            ),
            ("pinned", Some("pinned".into()))
        );
        assert!(
            !parsed
                .authenticate(&first.tokens["reader"].token)
                .unwrap()
                .has_scope(DISPATCH)
        );
        assert_eq!(first.caller().unwrap().subject, "demo");
    }

    #[test]
    fn tokens_leave_the_data_directory() {
        let (dir, data) = data();
        fs::write(
            data.join(FILE),
            r#"{"state":"old","dashboard":"gone","ingress":{"demo":"d"}}"#,
        )
        .unwrap();
        let private = dir.path().join("state");
        let folder = folder(&data, |name| {
            (name == "XDG_STATE_HOME").then(|| private.clone())
        })
        .unwrap();
        let moved = kept(&data, &folder).unwrap();
        assert_eq!(
            (moved.state.as_str(), moved.ingress["demo"].as_str()),
            ("old", "d")
        );
        assert!(!data.join(FILE).exists());
        for (path, mode) in [(private.join("ars-up"), 0o700), (folder.join(FILE), 0o600)] {
            assert_eq!(
                fs::metadata(path).unwrap().permissions().mode() & 0o777,
                mode
            );
        }
    }

    #[test]
    fn tokens_of_the_environment_take_precedence() {
        let own = r#"{"t1":{"subject":"ann"},"t2":{"subject":"ann","channel":"ops","scopes":["runs:read"]},"t3":{"scopes":[]}}"#;
        let variable =
            |name: &str| Some(if name == INGRESS_TOKENS { own } else { name }.to_owned());
        let secrets = Secrets::choose(Kept::default(), String::new(), variable).unwrap();
        assert_eq!(
            (secrets.state.as_str(), secrets.ingress.as_str()),
            (MEMORY_TOKEN, own)
        );
        assert_eq!(secrets.dashboard, DASHBOARD_TOKEN);
        assert_eq!(secrets.tokens.keys().collect::<Vec<_>>(), ["ann", "ann-2"]);
        assert_eq!(secrets.caller().unwrap().token, "t1");
        let reader = serde_json::to_value(&secrets.tokens["ann-2"]).unwrap();
        assert_eq!(
            reader,
            json!({"token": "t2", "subject": "ann", "channel": "ops", "scopes": ["runs:read"]})
        );
    }

    #[test]
    fn a_map_that_is_none_is_rejected() {
        let variable = |name: &str| (name == INGRESS_TOKENS).then(|| "[\"secret\"]".to_owned());
        let rejected = Secrets::choose(Kept::default(), String::new(), variable)
            .err()
            .unwrap()
            .to_string();
        assert!(
            rejected.contains(INGRESS_TOKENS) && !rejected.contains("\"secret"),
            "{rejected}"
        );
    }
}
