//! Webhooks of the host: their signature, their repetition, and the messages that they become.

mod deliveries;
mod ended;
mod signature;
mod trigger;

pub use deliveries::{Deliveries, Delivery};
pub use ended::{EndedPullRequest, ended_pull_request};
pub use signature::is_signed;
pub use trigger::{Bot, Ignored, Trigger, TriggerKind, trigger};
