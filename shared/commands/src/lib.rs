//! The command registry: definitions, their checks, and each surface's validated input.
//!
//! A command is defined once. Chat grammar, command line, HTTP routes, MCP tools, schemas and help
//! are derived from the definition. Not here: the commands, their handlers and their authorization
//! (`ars-bot-core`).
#![forbid(unsafe_code)]

pub mod names;
pub mod schema;

mod capability;
mod check;
mod coerce;
mod const_text;
mod definition;
mod error;
mod field;
mod input;
mod nested;
mod raw;
mod recognize;
mod reference;
mod registry;
mod spelling;
mod surface;
mod tail;
mod tokens;
mod usage;
mod validate;

pub use capability::Capability;
pub use check::check;
pub use definition::{DRY_RUN, Definition, Effect, FieldRule, Settle, Target};
pub use error::{Fault, InvalidInput};
pub use field::{Assumed, Field, Kind, Presence};
pub use input::Input;
pub use names::Name;
pub use raw::RawInput;
pub use recognize::Recognized;
pub use reference::reference;
pub use registry::Registry;
pub use surface::{Surface, Surfaces};

#[cfg(test)]
mod fuzz_definitions;
#[cfg(test)]
mod fuzz_tests;
