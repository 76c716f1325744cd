//! Every command, in the order that help and tool lists use.

use ars_commands::{Capability, Definition, Registry, check};
use ars_types::UnixMillis;

use super::{
    command::{Command, Entry},
    config, friction, help, memory, repo, review, runs, schedule, status,
};
use crate::{abridge, context::Deps};

/// Defines the table from these commands.
macro_rules! table {
    ($($command:ty),+ $(,)?) => {
        pub(super) const DEFINITIONS: &[&Definition] = &[$(&<$command>::DEFINITION),+];
        static ENTRIES: &[Entry] = &[$(Entry::for_command::<$command>()),+];
    };
}

table! {
    help::Show,
    status::Show,
    config::Show,
    config::Set,
    config::Clear,
    config::Instructions,
    runs::List,
    runs::Get,
    runs::Events,
    runs::Friction,
    runs::Outcomes,
    runs::Stop,
    runs::Restore,
    review::Abridge,
    memory::List,
    memory::Forget,
    friction::Report,
    friction::Propose,
    friction::Analyze,
    repo::List,
    repo::Onboard,
    repo::Offboard,
    repo::Reconfigure,
    repo::Rebuild,
    repo::Test,
    repo::Build,
    schedule::List,
}

// An invalid table fails the build.
const _: () = assert!(check(DEFINITIONS).is_ok());

/// Returns the command with this id.
pub(super) fn find(id: &str) -> Option<&'static Entry> {
    ENTRIES.iter().find(|entry| entry.definition.id == id)
}

/// Returns the terminal text for an output that another process gave as JSON. It is `None` if the
/// JSON is no output of this command.
pub fn text_of(id: &str, json: &str, now: UnixMillis) -> Option<String> {
    find(id).and_then(|entry| (entry.text_of)(json, now).ok())
}

/// Returns the commands available with every capability.
pub fn catalogue() -> Registry {
    catalogue_of(&[
        Capability::Memory,
        Capability::Schedules,
        Capability::CodeHost,
        Capability::Residents,
        Capability::Abridger,
    ])
}

/// Returns an installation's commands.
pub(crate) fn registry(deps: &Deps) -> Registry {
    let capabilities = &deps.capabilities;
    let mut available = Vec::new();
    if capabilities.memory.is_some() {
        available.push(Capability::Memory);
    }
    if capabilities.commands.schedules.is_some() {
        available.push(Capability::Schedules);
    }
    if capabilities.code_host.is_some() {
        available.push(Capability::CodeHost);
    }
    if capabilities.commands.residents.is_some() {
        available.push(Capability::Residents);
    }
    if abridge::is_offered(deps) {
        available.push(Capability::Abridger);
    }
    catalogue_of(&available)
}

/// Returns the commands available with these capabilities.
pub fn catalogue_of(available: &[Capability]) -> Registry {
    Registry::new(DEFINITIONS, available).unwrap_or_else(|fault| {
        // The table is checked when it is compiled.
        tracing::error!(%fault, "no commands: their table is invalid");
        Registry::default()
    })
}
