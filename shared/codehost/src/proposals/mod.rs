//! Issues about recurring friction: `friction.propose`.

mod plan;
mod proposal;

pub use plan::{Failed, Filed, IssueRef, OpenIssue, Plan, ProposeOptions, Proposed, plan};
pub use proposal::{Proposal, proposal};
