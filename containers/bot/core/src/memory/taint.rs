//! The untrusted sources that a run had read. Their text may steer the model.
//!
//! They are derived from the called tools and from the run's state. Both are stored with each step, so a resumed run has
//! the same sources. Not here: the scopes that stay open to such a run (`ars_memory::reflection`).

use std::collections::BTreeSet;

use ars_wire::memory::{MemoryRecord, Taint};

/// Tools with text of strangers in their results.
const WEB_TOOLS: [&str; 2] = ["web_fetch", "web_search"];
/// Start of the names of the code host's tools. Strangers write issues and comments.
const CODE_HOST_TOOLS: &str = "github_";

/// What the preparation of a run knows about its sources.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownSources<'a> {
    /// It works on a repository that the configuration does not name.
    pub(super) has_foreign_repository: bool,
    /// The records in its prompt.
    pub(super) recalled: &'a [MemoryRecord],
    /// Text of the code host is in its prompt.
    pub(super) has_host_text: bool,
    /// Earlier runs of its thread may have left text of strangers.
    pub(super) is_inherited: bool,
}

/// Returns the sources of a run.
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
