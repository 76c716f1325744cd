//! The runtime's guarantees, a function each.

mod bounded;
mod calls;
mod events;
mod follow_ups;
mod found;
mod guarantees;
mod money;
mod stops;

pub use found::Violation;
pub use guarantees::violations;
