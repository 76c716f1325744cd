//! Running an agent: the driver performs the loop's actions.

mod answer_form;
mod assignment;
mod call_watch;
mod checkpoints;
mod driver;
mod evidence;
mod evidence_calls;
mod known_commands;
mod model_calls;
mod named_pull;
mod prepared;
mod recheck;
mod report;
mod review_target;
mod spans;
mod tool_calls;
mod tool_events;
mod toolbox;
mod watched;
mod work;

pub(crate) use checkpoints::save_tree;

pub use assignment::{Assignment, BoundModel, RunCodeHost};
pub use driver::{Driver, First, Resumption};
pub use evidence::EvidenceLog;
pub use known_commands::known_commands;
pub use named_pull::{ContinuedBranch, NamedPullRequest};
pub use prepared::PreparedRun;
pub use recheck::Recheck;
pub use report::{DriverExit, DriverReport, ended, not_begun};
pub use review_target::ReviewTarget;
pub use spans::{OpenSpan, Span, SpanResult, Spans};
pub use tool_events::PublishedCalls;
pub use toolbox::Toolbox;
pub use work::Work;
