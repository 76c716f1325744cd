//! Credentials: the app's signed token, minted tokens, and a plain token.

use aws_lc_rs::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use serde_json::{Value, json};

use super::{
    answer::Answer,
    render::user,
    request::Request,
    state::{HostState, Minted},
};

/// The app that the fake knows.
#[derive(Debug)]
pub(super) struct App {
    pub(super) id: String,
    pub(super) slug: String,
    pub(super) installation: u64,
    pub(super) public_key: Vec<u8>,
    /// A user's plain token, with all permissions except writing check runs.
    pub(super) plain: String,
    /// The repositories in the installation.
    pub(super) reach: Reach,
}

/// An installation's repositories, and who else sees them.
#[derive(Debug)]
pub(super) enum Reach {
    /// Those in a single account. Anonymous callers see none.
    Account(String),
    /// Those in every account. Anonymous callers may read.
    Everything,
}

impl App {
    fn account(&self) -> &str {
        match &self.reach {
            Reach::Account(account) => account,
            Reach::Everything => "everyone",
        }
    }

    /// Returns the installation's repositories with a name, which has no owner.
    fn named(&self, state: &HostState, name: &str) -> Vec<String> {
        let is_named = |whole: &&String| match &self.reach {
            Reach::Account(account) => **whole == format!("{account}/{name}"),
            Reach::Everything => whole.split_once('/').is_some_and(|pair| pair.1 == name),
        };
        state
            .repositories
            .keys()
            .filter(is_named)
            .cloned()
            .collect()
    }
}

/// Who sent a request.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Caller {
    Anonymous,
    /// Anyone, on a host with public repositories.
    Reader,
    /// The app itself, with the signed token.
    App,
    /// A user, with a plain token.
    User,
    /// The app as an installation.
    Installation {
        slug: String,
        repositories: Vec<String>,
        permissions: Value,
    },
}

impl Caller {
    pub(super) fn login(&self) -> String {
        match self {
            Self::Installation { slug, .. } => format!("{slug}[bot]"),
            Self::User | Self::App | Self::Anonymous | Self::Reader => "ars-user".to_owned(),
        }
    }

    /// Returns whether the repository exists for this caller.
    pub(super) fn sees(&self, name: &str) -> bool {
        match self {
            Self::User | Self::Reader => true,
            Self::Installation { repositories, .. } => {
                repositories.is_empty() || repositories.iter().any(|one| one == name)
            }
            Self::App | Self::Anonymous => false,
        }
    }

    /// Returns whether the caller has a permission.
    pub(super) fn may(&self, permission: &str, is_write: bool) -> bool {
        match self {
            Self::User => true,
            Self::Reader => !is_write,
            Self::Installation { permissions, .. } => match permissions[permission].as_str() {
                Some("write") => true,
                Some("read") => !is_write,
                _ => false,
            },
            Self::App | Self::Anonymous => false,
        }
    }
}

/// Returns the permission that a path below a repository needs.
pub(super) fn permission(rest: &[&str]) -> &'static str {
    match rest {
        [] => "metadata",
        ["pulls", ..] => "pull_requests",
        ["issues", ..] => "issues",
        ["check-runs", ..] | ["commits", _, "check-runs"] => "checks",
        ["actions", ..] => "actions",
        _ => "contents",
    }
}

/// Returns a credential's token: the bearer, or git's password.
pub(super) fn token(request: &Request) -> Option<String> {
    let (scheme, rest) = request.header("authorization").split_once(' ')?;
    match scheme.to_ascii_lowercase().as_str() {
        "bearer" | "token" => Some(rest.to_owned()),
        "basic" => {
            let pair = String::from_utf8(STANDARD.decode(rest).ok()?).ok()?;
            pair.split_once(':').map(|pair| pair.1.to_owned())
        }
        _ => None,
    }
}

/// Identifies who makes the request.
pub(super) fn caller(state: &HostState, app: &App, request: &Request) -> Result<Caller, Answer> {
    let Some(token) = token(request) else {
        return Ok(match app.reach {
            Reach::Account(_) => Caller::Anonymous,
            Reach::Everything => Caller::Reader,
        });
    };
    if token == app.plain {
        return Ok(Caller::User);
    }
    if let Some(minted) = state
        .minted
        .iter()
        .find(|one| one.token == token && !one.is_revoked)
    {
        let Minted {
            repositories,
            permissions,
            ..
        } = minted.clone();
        return Ok(Caller::Installation {
            slug: app.slug.clone(),
            repositories,
            permissions,
        });
    }
    if token.matches('.').count() == 2 && is_signed(app, &token) {
        return Ok(Caller::App);
    }
    Err(Answer::error(401, "Bad credentials"))
}

fn is_signed(app: &App, token: &str) -> bool {
    let Some((input, signature)) = token.rsplit_once('.') else {
        return false;
    };
    let Some(claims) = input
        .split_once('.')
        .and_then(|pair| URL_SAFE_NO_PAD.decode(pair.1).ok())
    else {
        return false;
    };
    let Ok(signature) = URL_SAFE_NO_PAD.decode(signature) else {
        return false;
    };
    let claims: Value = serde_json::from_slice(&claims).unwrap_or_default();
    let span = claims["exp"].as_i64().unwrap_or(0) - claims["iat"].as_i64().unwrap_or(0);
    let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, &app.public_key);
    let is_issuer =
        claims["iss"].as_str() == Some(&app.id) || claims["iss"].as_u64() == app.id.parse().ok();
    key.verify(input.as_bytes(), &signature).is_ok() && is_issuer && (1..=660).contains(&span)
}

/// Describes the app.
pub(super) fn app(app: &App, caller: &Caller) -> Answer {
    if *caller != Caller::App {
        return Answer::error(401, "A JSON web token could not be decoded");
    }
    Answer::ok(&json!({
        "id": app.id.parse::<u64>().unwrap_or(1), "slug": app.slug, "node_id": "A_1", "name": app.slug,
        "owner": user(app.account()), "permissions": {}, "events": [],
        "html_url": "https://h.test/apps/ars", "external_url": "https://ars.test", "description": "",
        "created_at": super::render::TIME, "updated_at": super::render::TIME,
    }))
}

/// Mints an installation token.
pub(super) fn mint(
    state: &mut HostState,
    app: &App,
    request: &Request,
    caller: &Caller,
    installation: &str,
) -> Answer {
    if *caller != Caller::App {
        return Answer::error(401, "A JSON web token could not be decoded");
    }
    if installation != app.installation.to_string() {
        return Answer::not_found();
    }
    let body = request.json();
    let names = body["repositories"].as_array().cloned().unwrap_or_default();
    let mut repositories = Vec::new();
    for name in names.iter().filter_map(Value::as_str) {
        let found = app.named(state, name);
        if found.is_empty() {
            return Answer::error(
                422,
                "There is at least one repository that does not exist or is not accessible to the parent installation.",
            );
        }
        repositories.extend(found);
    }
    let token = format!("ghs_fake{:08}", state.id());
    let permissions = match &body["permissions"] {
        Value::Null => json!({
            "metadata": "read", "contents": "write", "issues": "write", "pull_requests": "write",
            "checks": "write", "actions": "read",
        }),
        some => some.clone(),
    };
    let shown: Vec<Value> = repositories
        .iter()
        .map(|name| super::render::repository(&state.repositories[name]))
        .collect();
    let answer = json!({
        "token": token, "expires_at": "2036-01-02T03:04:05Z", "permissions": permissions, "repositories": shown,
        "repository_selection": if shown.is_empty() { "all" } else { "selected" },
    });
    state.minted.push(Minted {
        token,
        repositories,
        permissions,
        is_revoked: false,
    });
    Answer::json(201, &answer)
}
