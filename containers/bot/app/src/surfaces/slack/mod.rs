//! Slack: the surface of the chat platform, with its table in the configuration file.
//!
//! Not here: events, cards and replies (`ars-bot-slack`).

mod check;
mod surface;
mod table;

pub use surface::Slack;
pub use table::SlackTable;
