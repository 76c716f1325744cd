//! The Slack surface: events of a workspace become requests; cards and replies lead back.
//!
//! Not here: parts without I/O, such as markup, cards' frames and the decision about an event
//! (`ars-slack`), and the settings in the configuration file (`app/src/surfaces/slack`).
#![forbid(unsafe_code)]

pub mod api;

mod card;
mod catch_up;
mod channel;
mod directory;
mod downloads;
mod inbox;
mod receive;
mod settings;
mod socket;
mod workspace;

pub use channel::SlackChannel;
pub use settings::{Admits, SlackSettings};
pub use socket::SlackService;
pub use workspace::Workspace;
