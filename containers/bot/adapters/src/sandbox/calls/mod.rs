//! System call filters, for everything that Landlock has no rule for.
//!
//! A filter sees a call's numbers and no memory, so it knows a process and a mode, but no path.
//! Each part lists the calls that it refuses, always or with certain arguments
//! (docs/decisions/0022).

mod attributes;
mod filter;
mod number;
mod objects;
mod processes;
mod sockets;

pub(super) use filter::{
    AbstractSockets, apply_compiled, filter, filter_beside_namespaces, filter_of_others,
};
