//! The untrusted sources that a run had read. Their text may steer the model.
//!
//! They are derived from the called tools and from the run's state. Both are stored with each step, so a resumed run has
//! the same sources. Not here: the scopes that stay open to such a run (`ars_memory::reflection`).

use std::collections::BTreeSet;

use ars_wire::memory::{MemoryRecord, Taint};

/// Tools that return strangers' text.
const WEB_TOOLS: [&str; 2] = ["web_fetch", "web_search"];
/// Name prefix shared by the code host's tools. Strangers write issues and comments.
const CODE_HOST_TOOLS: &str = "github_";

/// What preparing a run reveals about the sources.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownSources<'a> {
    /// It works on a repository that the configuration does not name.
    pub(super) has_foreign_repository: bool,
    /// The records in the prompt.
    pub(super) recalled: &'a [MemoryRecord],
    /// The prompt contains code host text.
    pub(super) has_host_text: bool,
    /// The thread's earlier runs may have left strangers' text.
    pub(super) is_inherited: bool,
}

/// Returns a run's untrusted sources.
pub(super) fn of_run(tools: &BTreeSet<String>, known: KnownSources<'_>) -> Vec<Taint> {
    let KnownSources {
        has_foreign_repository,
        recalled,
        has_host_text,
        is_inherited,
    } = known;
    let sources = [
        (
            Taint::Web,
            tools.iter().any(|name| {
                WEB_TOOLS.contains(&name.as_str()) || name.starts_with(CODE_HOST_TOOLS)
            }),
        ),
        (Taint::Repository, has_foreign_repository),
        // Otherwise the next run would pass such a record on as its own finding.
        (
            Taint::Memory,
            recalled.iter().any(|record| !record.taint.is_empty()),
        ),
        (Taint::Host, has_host_text),
        (Taint::Thread, is_inherited),
    ];
    let present = sources.into_iter().filter(|(_, is_present)| *is_present);
    present.map(|(taint, _)| taint).collect()
}
