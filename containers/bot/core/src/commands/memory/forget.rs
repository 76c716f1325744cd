//! `memory.forget`: hides a record permanently. The record id names its scope.

use ars_auth::{Denied, policy::Resource};
use ars_commands::{Capability, Definition, Field, Kind, names};
use ars_memory::{Scope, record_id};
use ars_types::StoreKey;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    super::{call::Call, command::Command, error::CommandError},
    store::{MEMORY, memory},
};

/// The right that covers shared records.
const MANAGE: &str = "repo:write";

/// The command.
pub(in super::super) struct Forget;

/// The input.
#[derive(Debug, Deserialize)]
pub(in super::super) struct Input {
    id: String,
}

/// The output.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(in super::super) struct Forgotten {
    /// The record.
    id: String,
    /// Key of its scope.
    #[schemars(with = "String")]
    scope: StoreKey,
    /// Always true.
    forgotten: bool,
}

impl Command for Forget {
    const DEFINITION: Definition = Definition::destructive(
        "memory.forget",
        "memory:write",
        "Forgets one memory record.",
    )
    .with_args(&[Field::required(
        "id",
        Kind::Name(&names::MEMORY),
        "the record, as `memory list` shows it",
    )])
    .needing(Capability::Memory)
    .leaving_run();
    type Input = Input;
    type Output = Forgotten;

    fn permit(call: Call<'_>, input: &Input) -> Result<(), CommandError> {
        scope_of(call, input).map(drop)
    }

    async fn run(call: Call<'_>, input: Input) -> Result<Forgotten, CommandError> {
        let memory = memory(call)?;
        let key = scope_of(call, &input)?;
        let forgotten = memory.store.forget(&key, &input.id).await;
        if !forgotten.map_err(|error| CommandError::store(MEMORY, &error))? {
            return Err(unknown());
        }
        Ok(Forgotten {
            id: input.id,
            scope: key,
            forgotten: true,
        })
    }

    fn text(output: &Forgotten) -> String {
        format!("`{}` is forgotten", output.id)
    }
}

/// Returns the key of the record's scope, if the caller may forget records there.
fn scope_of(call: Call<'_>, input: &Input) -> Result<StoreKey, CommandError> {
    let (key, _) = record_id::parse(&input.id).ok_or_else(unknown)?;
    let scope = Scope::from_key(key).ok_or_else(unknown)?;
    let key = StoreKey::parse(key).map_err(|_invalid| unknown())?;
    check(call, scope, key.as_str())?;
    Ok(key)
}

fn unknown() -> CommandError {
    CommandError::not_found("there is no such record")
}

/// Checks that the caller may forget a record of this scope.
/// Users may forget their own. Shared ones need the right to manage repositories; another user's are out of reach.
fn check(call: Call<'_>, scope: Scope, key: &str) -> Result<(), CommandError> {
    let name = key.split_once(':').map_or("", |(_, name)| name);
    match scope {
        Scope::User => call.permits("memory:write", &Resource::UserScope(name)),
        Scope::Org | Scope::Repo | Scope::Channel => call
            .permits(MANAGE, &Resource::Command)
            .map_err(|_| CommandError::denied(Denied::MissingGrant)),
    }
}
