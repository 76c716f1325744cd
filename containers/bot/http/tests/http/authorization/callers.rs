//! Callers in both tables, the runs that they may or may not read, and comparable responses.
#![expect(
    clippy::unwrap_used,
    reason = "a double that cannot go on fails its test"
)]

use std::{collections::BTreeMap, sync::LazyLock};

use ars_auth::{Grants, Restrictions, Set};
use ars_bot_core::{Capabilities, settings::Settings};
use ars_bot_http::Dashboard;
use aws_lc_rs::{rsa::KeySize, signature::RsaKeyPair};
use reqwest::{Client, Method, RequestBuilder, redirect::Policy};
use serde_json::{Value, json};

use crate::{
    access::{assertion, by_access},
    api::support::whole,
    support::{Bot, by_token, record},
};

/// The agents. Each is restricted.
pub const AGENTS: [&str; 4] = ["general", "coding", "review", "research"];
/// Actor for the dashboard's secret `look`.
const VIEWER: &str = "access:ops";
/// The read scope of every command.
const READS: [&str; 7] = [
    "help:read",
    "status:read",
    "config:read",
    "runs:read",
    "memory:read",
    "friction:read",
    "repo:read",
];
/// Every write, and the reads.
const WRITES: [&str; 8] = [
    "runs:write",
    "review:write",
    "memory:write",
    "config:write",
    "friction:write",
    "repo:write",
    "repo:exec",
    "schedule:read",
];

/// Returns the tokens, each without the prefix of its scopes. `reads` and `writes` are pinned to
/// channel `ci`, `other` has every scope in another channel, `unpinned` in none.
fn tokens() -> String {
    let all: Vec<&str> = READS.iter().chain(&WRITES).copied().collect();
    let with_dispatch = |scopes: &[&'static str]| [&["dispatch"], scopes].concat();
    json!({
        "scopeless": {"subject": "nil", "scopes": []},
        "dispatch": {"subject": "ann"},
        "reads": {"subject": "bo", "channel": "ci", "scopes": with_dispatch(&READS)},
        "writes": {"subject": "cy", "channel": "ci", "scopes": with_dispatch(&all)},
        "other": {"subject": "oz", "channel": "other", "scopes": with_dispatch(&all)},
        "unpinned": {"subject": "una", "scopes": with_dispatch(&all)},
        "deployer": {"subject": "dee", "scopes": ["deploy:write"]},
    })
    .to_string()
}

/// The dashboard viewer's grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Viewer {
    /// None but those that every session has.
    Plain,
    /// Granted the channels `ci`.
    Member,
    /// Everything, in another channel.
    Other,
    /// Granted everything there is.
    Owner,
}

impl Viewer {
    fn grants(self) -> Grants {
        let channels =
            |name: &str| Set::Only(["http", "mcp"].map(|at| format!("{at}:{name}")).into());
        match self {
            Self::Plain => Grants::default(),
            Self::Member => Grants {
                channels: channels("ci"),
                ..Grants::default()
            },
            Self::Other => Grants {
                channels: channels("other"),
                ..Grants::everything()
            },
            Self::Owner => Grants::everything(),
        }
    }
}

/// Returns a bot with every command, and stored runs `http-ci` and `mcp-ci` in channels `ci`.
pub async fn bot(viewer: Viewer) -> Bot {
    let grants = BTreeMap::from([(VIEWER.to_owned(), viewer.grants())]);
    behind(by_token(VIEWER), &tokens(), grants).await
}

/// Assertions by an access proxy.
pub struct Assertions {
    pub service: String,
    pub person: String,
}

/// Returns a bot in mode `access`. The service has every read, and the person is a member in
/// channel `ci`.
pub async fn access() -> (Bot, Assertions) {
    let pair = RsaKeyPair::generate(KeySize::Rsa2048).unwrap();
    let service = Grants {
        actions: Set::only(&READS),
        ..Grants::default()
    };
    let grants = [
        ("access:svc:ci", service),
        ("access:ann", Viewer::Member.grants()),
    ];
    let grants = grants.map(|(actor, grants)| (actor.to_owned(), grants));
    (
        behind(by_access(&pair), &tokens(), grants.into()).await,
        assertions(&pair),
    )
}

/// Returns a bot in mode `access` whose callers are in channel `ci` and have only this scope. The
/// tokens are `alone`, and `sender`, which has `dispatch` as well. Every agent is restricted.
pub async fn with_scope(pair: &RsaKeyPair, scope: &str) -> (Bot, Assertions) {
    let grants = || Grants {
        actions: Set::only(&[scope]),
        ..Viewer::Member.grants()
    };
    let grants = ["access:svc:ci", "access:ann"].map(|actor| (actor.to_owned(), grants()));
    let tokens = json!({
        "alone": {"subject": "sol", "channel": "ci", "scopes": [scope]},
        "sender": {"subject": "sol", "channel": "ci", "scopes": ["dispatch", scope]},
    });
    let bot = behind(by_access(pair), &tokens.to_string(), grants.into()).await;
    (bot, assertions(pair))
}

fn assertions(pair: &RsaKeyPair) -> Assertions {
    Assertions {
        service: assertion(pair, &json!({"common_name": "ci"})),
        person: assertion(pair, &json!({"sub": "ann"})),
    }
}

/// Returns a bot in mode `none`.
pub async fn locally() -> Bot {
    behind(Dashboard::default(), &tokens(), BTreeMap::new()).await
}

async fn behind(dashboard: Dashboard, tokens: &str, grants: BTreeMap<String, Grants>) -> Bot {
    let restrictions = Restrictions {
        agents: AGENTS.map(str::to_owned).into(),
        ..Restrictions::default()
    };
    let settings = Settings {
        grants,
        restrictions,
        ..Settings::default()
    };
    let capabilities = whole(Capabilities::default());
    let bot = Bot::with_capabilities(dashboard, tokens, settings, capabilities).await;
    for platform in ["http", "mcp"] {
        let events = [json!({"type": "answer", "text": "x", "seq": 1})];
        let mut run = record(&format!("{platform}-ci"), 1_760_000_000_000, &events);
        run.channel_id = format!("{platform}:ci");
        run.user_id = format!("{platform}:someone");
        bot.store.insert(run);
    }
    bot
}

/// A caller's credential.
#[derive(Debug, Clone)]
pub enum Credential {
    None,
    Bearer(&'static str),
    /// A header by name, for another dashboard mode.
    Header(&'static str, String),
    /// The secret holder's session.
    Session,
}

/// A response without the date.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

/// A client is slow to build. Without idle connections it serves each test's runtime.
static CLIENT: LazyLock<Client> = LazyLock::new(|| {
    Client::builder()
        .redirect(Policy::none())
        .pool_max_idle_per_host(0)
        .build()
        .unwrap()
});

async fn read(request: RequestBuilder) -> Answer {
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let headers = response.headers().iter();
    let headers =
        headers.map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()));
    let headers = headers.filter(|(name, _)| name != "date").collect();
    Answer {
        status,
        headers,
        body: response.text().await.unwrap(),
    }
}

/// Signs in and returns the cookie.
async fn session(bot: &Bot) -> String {
    let request = CLIENT
        .post(bot.url("/runs/sign-in"))
        .header("sec-fetch-site", "same-origin");
    let answer = read(request.body("token=look")).await;
    answer.headers["set-cookie"]
        .split(';')
        .next()
        .unwrap()
        .to_owned()
}

/// Sends a request as a page on the service would.
pub async fn send(
    bot: &Bot,
    credential: &Credential,
    method: Method,
    path: &str,
    body: Option<&Value>,
) -> Answer {
    let mut request = CLIENT
        .request(method, bot.url(path))
        .header("sec-fetch-site", "same-origin");
    if let Some(body) = body {
        request = request
            .header("content-type", "application/json")
            .body(body.to_string());
    }
    request = match credential {
        Credential::None => request,
        Credential::Bearer(token) => request.bearer_auth(token),
        Credential::Header(name, value) => request.header(*name, value),
        Credential::Session => request.header("cookie", session(bot).await),
    };
    read(request).await
}
