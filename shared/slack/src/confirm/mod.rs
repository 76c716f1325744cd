//! Buttons below a destructive command, which only its requester may press.
//!
//! Everything that a press needs is in the button's value, so it survives a restart of the bot. Not
//! here: which commands need a confirmation (`ars_commands`), and running them.

mod age;
mod frame;
mod value;

pub use age::{CONFIRM_MAX_AGE_MS, is_expired};
pub use frame::{CANCEL_ACTION, CONFIRM_ACTION, Decision, ask, decided};
pub use value::{ConfirmValue, VALUE_MAX_BYTES};
