//! Egress: commands' network access, through a proxy with a host list (docs/decisions/0023).
//!
//! A run has a `RunEgress`: rules, counters and refused hosts. While a command in the run executes,
//! a `Gate` serves a proxy for that command only. Under bubblewrap the listener is made inside the
//! network namespace and handed over (`enter`, `handover`), once for all the run's commands, by the
//! program that starts them. Under Landlock it is a loopback port with a secret. A gate that fails
//! refuses connections; nothing falls back to another network.

mod answer;
mod connections;
mod decide;
mod dial;
mod enter;
mod forward;
mod gate;
mod handover;
mod limits;
mod meter;
mod policy;
mod proxy;
mod push;
mod registries;
mod route;
mod rule;
mod run;
#[cfg(test)]
mod tests;

pub use enter::{ENTER, enter};

pub use limits::CONNECTION_FILES;
pub use policy::EgressSettings;
pub use rule::{HostRule, RuleError};

pub(crate) use decide::is_listed;
pub(crate) use enter::{PORT, limit_processes};
pub(crate) use gate::{Gate, GateKind, RequestLine, Way};
pub(crate) use limits::MAX_REPORTED;
pub(crate) use policy::Scope;
pub(crate) use registries::DOCUMENTATION;
pub(crate) use run::RunEgress;
