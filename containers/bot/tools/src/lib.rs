//! The tools an agent may call, each in a file, the agents as data, and a review's artifacts.
//!
//! A tool returns text and never fails for expected faults: invalid arguments, a missing file or a
//! failing command are results the model can act on. Not here: the loop that calls the tools
//! (`ars-bot-core`).
#![forbid(unsafe_code)]

pub mod agents;
mod args;
mod bash;
mod description_slot;
mod diff_digest;
mod edit_file;
mod error;
mod github;
pub mod instructions;
mod list_files;
mod list_skills;
pub mod media;
mod output;
mod read_file;
pub mod review;
mod search;
#[cfg(test)]
mod skills_tests;
mod submit_pr_description;
mod submit_verdict;
pub mod submodules;
mod terminal;
#[cfg(test)]
pub(crate) mod tests;
mod tool;
mod toolset;
mod update_status;
mod use_skill;
mod web_fetch;
mod web_search;
#[cfg(test)]
mod web_tests;
mod write_file;

pub use ars_agent::Effects;
pub use description_slot::DescriptionSlot;
pub use github::{
    CodeHostAccess, Denial, GitHubTool, ReadRepositories, RepositoryGate, exposed_source,
};
pub use output::ToolOutput;
pub use submit_pr_description::description_in;
pub use submit_verdict::verdict_in;
pub use tool::{Need, RunFacilities, Tool, ToolContext};
pub use toolset::Toolset;
pub use web_fetch::WebFetch;
pub use web_search::WebSearch;
