//! `memory.list`: the caller's and shared scopes' records, with their ids.

use ars_auth::policy::Resource;
use ars_commands::Capability;
use ars_commands::{Definition, Field, Kind, names};
use ars_memory::{Scope, Scopes};
use ars_types::{StoreKey, Visibility};
use ars_wire::memory::MemoryRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    super::{call::Call, command::Command, error::CommandError, untrusted::Untrusted},
    store::{MEMORY, memory},
};

/// The action of reading a scope.
const READ: &str = "memory:read";
/// Records of a scope by default.
const DEFAULT_LIMIT: i64 = 20;
/// Most records of a scope.
const MAX_LIMIT: i64 = 50;
/// Most characters of a query.
const MAX_QUERY: usize = 3_900;
/// The scopes that a caller can name.
const SCOPES: &[&str] = &["me", "org", "repo", "channel", "all"];

/// The command.
pub(in super::super) struct List;

/// The input.
#[derive(Debug, Deserialize)]
pub(in super::super) struct Input {
    query: Option<String>,
    scope: Option<ScopeName>,
    limit: u32,
    repo: Option<String>,
}

/// The scope as callers name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ScopeName {
    Me,
    Org,
    Repo,
    Channel,
    All,
}

/// The output.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Records {
    /// The query.
    #[serde(skip_serializing_if = "Option::is_none")]
    query: Option<String>,
    /// Most records of a scope.
    limit: u32,
    /// Named scopes without an input, such as a repository.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    missing: Vec<ScopeName>,
    /// The scopes.
    scopes: Vec<ScopeRecords>,
}

/// The records of one scope.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ScopeRecords {
    /// Key of the scope.
    #[schemars(with = "String")]
    key: StoreKey,
    /// Name of the scope for people.
    label: String,
    /// Whether there may be more records.
    limit_reached: bool,
    /// Records, newest first.
    records: Vec<RecordView>,
}

/// A record.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RecordView {
    /// Id, for `memory.forget`.
    id: String,
    /// Kind.
    #[schemars(with = "String")]
    kind: ars_wire::memory::Kind,
    /// Text, fenced.
    text: Untrusted,
    /// When it was learned, in milliseconds since the Unix epoch.
    created_at: i64,
    /// When it was last used.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_used_at: Option<i64>,
    /// Number of uses.
    use_count: u64,
    /// From 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence: Option<f64>,
    /// The run it was learned in.
    #[serde(skip_serializing_if = "Option::is_none")]
    source_run_id: Option<String>,
    /// Untrusted sources that the run had read: `web`, `repository`, `memory`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    taint: Vec<String>,
}

impl Command for List {
    const DEFINITION: Definition = Definition::read(
        "memory.list",
        READ,
        "Lists the caller's and shared memory records with their ids.",
    )
    .with_args(&[Field::optional(
        "query",
        Kind::Rest { max: MAX_QUERY },
        "words that a record has; the first one may be a scope",
    )])
    .with_options(&[
        Field::optional("scope", Kind::Choice(SCOPES), "the scope").assumed("all"),
        Field::optional(
            "limit",
            Kind::within(1, MAX_LIMIT),
            "most records of a scope",
        )
        .or_integer(DEFAULT_LIMIT),
        Field::optional(
            "repo",
            Kind::Name(&names::REPOSITORY),
            "the repository of scope `repo`",
        ),
    ])
    .needing(Capability::Memory);
    type Input = Input;
    type Output = Records;

    async fn run(call: Call<'_>, input: Input) -> Result<Records, CommandError> {
        let memory = memory(call)?;
        let Input {
            query,
            scope,
            limit,
            repo,
        } = input;
        let (scope, query) = named_scope(scope, query);
        let scopes = Scopes {
            organization: memory.organization.as_deref(),
            repository: repo.as_deref(),
            channel: call
                .caller
                .origin
                .as_ref()
                .map(|origin| origin.channel.as_str()),
            user: Some(call.caller.actor.main_account()),
        };
        let accounts = call.caller.actor.other_accounts();
        let of_accounts = accounts.map(|account| (Scope::User, Scopes::for_user(account)));
        let places = Scope::ALL.into_iter().map(|scope| (scope, scopes));
        let mut output = Records {
            query,
            limit,
            missing: Vec::new(),
            scopes: Vec::new(),
        };
        for (wanted, scopes) in places.chain(of_accounts) {
            if !scope.includes(wanted) {
                continue;
            }
            let Ok(key) = scopes.key(wanted) else {
                if scope != ScopeName::All && !output.missing.contains(&scope) {
                    output.missing.push(scope);
                }
                continue;
            };
            match permitted(call, wanted, &scopes) {
                Ok(()) => {}
                Err(_denied) if scope == ScopeName::All => continue,
                Err(denied) => return Err(denied),
            }
            let records = memory
                .store
                .list(&key, output.query.as_deref(), limit)
                .await;
            let records = records.map_err(|error| CommandError::store(MEMORY, &error))?;
            output.scopes.push(ScopeRecords {
                label: label(wanted).to_owned(),
                limit_reached: records.len() >= limit as usize,
                records: records
                    .into_iter()
                    .map(|record| view(call, record))
                    .collect(),
                key,
            });
        }
        Ok(output)
    }

    fn text(output: &Records) -> String {
        let mut lines = Vec::new();
        for scope in &output.scopes {
            lines.push(format!("{} ({})", scope.label, scope.key));
            lines.extend(
                scope
                    .records
                    .iter()
                    .map(|record| format!("- `{}` {}", record.id, record.text.plain())),
            );
            match (scope.records.is_empty(), scope.limit_reached) {
                (true, _) => lines.push("- none".to_owned()),
                (false, true) => {
                    lines.push(format!("- and more: this is the limit of {}", output.limit));
                }
                (false, false) => {}
            }
        }
        lines.extend(
            output
                .missing
                .iter()
                .map(|scope| format!("scope {} needs an input", scope.as_str())),
        );
        if lines.is_empty() {
            "no scope to list".to_owned()
        } else {
            lines.join("\n")
        }
    }
}

impl ScopeName {
    const ALL: [Self; 5] = [Self::Me, Self::Org, Self::Repo, Self::Channel, Self::All];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Me => "me",
            Self::Org => "org",
            Self::Repo => "repo",
            Self::Channel => "channel",
            Self::All => "all",
        }
    }

    fn includes(self, scope: Scope) -> bool {
        match self {
            Self::All => true,
            Self::Me => scope == Scope::User,
            Self::Org => scope == Scope::Org,
            Self::Repo => scope == Scope::Repo,
            Self::Channel => scope == Scope::Channel,
        }
    }
}

/// Returns the scope and the query. Without a scope, the first word of the query may name one.
fn named_scope(scope: Option<ScopeName>, query: Option<String>) -> (ScopeName, Option<String>) {
    let query = query
        .map(|query| query.trim().to_owned())
        .filter(|query| !query.is_empty());
    let (Some(text), None) = (&query, scope) else {
        return (scope.unwrap_or(ScopeName::All), query);
    };
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    match ScopeName::ALL
        .into_iter()
        .find(|name| name.as_str() == first)
    {
        Some(name) => (
            name,
            Some(rest.trim().to_owned()).filter(|rest| !rest.is_empty()),
        ),
        None => (ScopeName::All, query),
    }
}

fn permitted(call: Call<'_>, scope: Scope, scopes: &Scopes<'_>) -> Result<(), CommandError> {
    let origin = call
        .caller
        .origin
        .as_ref()
        .map_or(Visibility::Unknown, |origin| origin.visibility);
    let name = |name: Option<&str>| name.unwrap_or_default().to_owned();
    match scope {
        Scope::Org => call.permits(READ, &Resource::OrgScope { origin }),
        Scope::User => call.permits(READ, &Resource::UserScope(&name(scopes.user))),
        Scope::Repo => call.permits(READ, &Resource::RepoScope(&name(scopes.repository))),
        Scope::Channel => {
            let channel = &name(scopes.channel);
            call.permits(
                READ,
                &Resource::ChannelScope {
                    channel,
                    visibility: origin,
                },
            )
        }
    }
}

const fn label(scope: Scope) -> &'static str {
    match scope {
        Scope::Org => "organization",
        Scope::Repo => "repository",
        Scope::Channel => "channel",
        Scope::User => "yours",
    }
}

fn view(call: Call<'_>, record: MemoryRecord) -> RecordView {
    // A secret may be known only since the record was written.
    let text = call.context.deps().redactor.clean(&record.text, usize::MAX);
    RecordView {
        id: record.id,
        kind: record.kind,
        text: Untrusted(text),
        created_at: record.created_at,
        last_used_at: record.last_used_at,
        use_count: record.use_count,
        confidence: record.confidence,
        source_run_id: record.source_run_id,
        taint: record
            .taint
            .iter()
            .map(|taint| taint.as_str().to_owned())
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_word_of_the_query_may_name_the_scope() {
        let query = |text: &str| Some(text.to_owned());
        for (scope, text, expected) in [
            (None, None, (ScopeName::All, None)),
            (None, query("  "), (ScopeName::All, None)),
            (
                None,
                query("repo build times"),
                (ScopeName::Repo, query("build times")),
            ),
            (None, query("me"), (ScopeName::Me, None)),
            (None, query("mexico"), (ScopeName::All, query("mexico"))),
            (
                Some(ScopeName::Org),
                query("repo build"),
                (ScopeName::Org, query("repo build")),
            ),
        ] {
            assert_eq!(named_scope(scope, text.clone()), expected, "{text:?}");
        }
    }
}
