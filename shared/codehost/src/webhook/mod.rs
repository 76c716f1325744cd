//! The host's webhooks: their signature, their repetition, and the messages that they become.

mod attempts;
mod deliveries;
mod ended;
mod signature;
mod trigger;

pub use attempts::{Attempt, CheckAttempts, MAX_CHECK_ATTEMPTS};
pub use deliveries::{Deliveries, Delivery};
pub use ended::{EndedPullRequest, ended_pull_request};
pub use signature::is_signed;
pub use trigger::{Bot, CHECKS_USER, Ignored, Trigger, TriggerKind, item_of_thread, trigger};
