//! Places at which the bot kills itself on request (docs/testing.md, the drills).
//! `ARS_KILL_AT=<port>.<method>.<before|after>:<n>` aborts the process around the n-th such call, as `kill -9` would.
//!
//! Only under the feature `kill-points`, which no release has: `tests/drills` builds the bot with it. The points are
//! decorators over the stores' transport and the other ports. Not here: the assertions after a death (the drills).

mod arm;
mod model;
mod point;
mod stores;
mod workspace;

pub use arm::{arm, arm_transport};
