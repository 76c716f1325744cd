//! Commands that help shows: those for configured capabilities. See
//! docs/reference/cli.md#registry-commands.

use std::{ffi::OsString, path::Path};

use ars_bot_core::commands::{catalogue, catalogue_of};
use ars_codehost::review::Provider;
use ars_commands::{Capability, Registry};

use super::options::{CONFIG, SERVER};
use crate::{
    code_host::CodeHostConfig,
    config::{self, File, HistoryStore},
    environment::{self, name},
};

/// Returns the commands for the set-up that the arguments and the environment name. It has every
/// command if the set-up is not known here: a service's, a state Worker document, and an invalid
/// file.
pub fn configured(arguments: &[OsString]) -> Registry {
    let set =
        |option, variable| value(arguments, option).or_else(|| environment::variable(variable));
    if set(SERVER, name::SERVER).is_some() {
        return catalogue();
    }
    let file = match set(CONFIG, name::CONFIG) {
        None => File::default(),
        Some(path) if config::remote_key(Path::new(&path)).is_some() => return catalogue(),
        Some(path) => match config::load(Path::new(&path)) {
            Ok(file) => file,
            Err(_) => return catalogue(),
        },
    };
    let memory = file.memory.enabled.then_some(Capability::Memory);
    // Variables that cannot be used are a command error, which help must show for it to be called.
    let has_code_host = !matches!(CodeHostConfig::read(environment::variable), Ok(None));
    let code_host = has_code_host.then_some(Capability::CodeHost);
    let has_worker = file.run_history.store == Some(HistoryStore::Worker)
        || environment::variable(name::STATE_WORKER_URL).is_some();
    let has_schedules =
        has_worker || file.schedules.worker.is_some() || file.fires_schedules(has_code_host);
    let schedules = has_schedules.then_some(Capability::Schedules);
    // Whether a model has a key is checked by the command.
    let word = environment::variable(name::READING_DIFF);
    let diffs = file.review.reading_diff(word.as_deref());
    let is_offered = has_code_host && diffs.is_ok_and(|diffs| diffs.provider != Provider::Off);
    let abridger = is_offered.then_some(Capability::Abridger);
    let residents = file
        .execution
        .resident
        .is_used(has_worker)
        .then_some(Capability::Residents);
    let parts = memory
        .into_iter()
        .chain(schedules)
        .chain(code_host)
        .chain(abridger)
        .chain(residents);
    catalogue_of(&parts.collect::<Vec<_>>())
}

/// Returns an option's value: `--name value` or `--name=value`.
fn value(arguments: &[OsString], option: &str) -> Option<String> {
    let mut words = arguments.iter().filter_map(|word| word.to_str());
    while let Some(word) = words.next() {
        match word
            .strip_prefix("--")
            .and_then(|word| word.strip_prefix(option))
        {
            Some("") => return words.next().map(str::to_owned),
            Some(rest) if rest.starts_with('=') => return Some(rest[1..].to_owned()),
            Some(_) | None => {}
        }
    }
    None
}
