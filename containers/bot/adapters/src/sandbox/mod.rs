//! The command sandbox: limits what a program that an agent chose can reach (docs/decisions/0022).
//!
//! Three kinds, chosen once at startup (`choose`). Bubblewrap gives a program its own namespaces
//! with only the folders in `folders`. Landlock and a system call filter restrict the thread that
//! starts the program. `none` confines nothing and must be configured. Resource limits apply to
//! every kind: for each process, and where the kernel lets the service make control groups
//! (`groups`), for a run as a whole. A run's commands share a sandbox, in which a service program
//! starts them (`session`).

mod access;
mod bubblewrap;
mod calls;
mod choose;
mod confinement;
mod folders;
mod groups;
mod limits;
mod programs;
mod ruleset;
mod session;
mod settings;
mod staged;

pub use limits::RunLimits;
pub use programs::{TRUSTED_PATH, trusted};
pub use session::{SERVE, serve};
pub use settings::SandboxSettings;

pub(crate) use access::{Access, Reach};
pub(crate) use choose::choose;
pub(crate) use confinement::{Domain, Sandbox, give_up_capabilities};
pub(crate) use folders::Folders;
pub(crate) use groups::{Entrance, Membership, RunGroup};
pub(crate) use limits::limit;
pub(crate) use session::{Answer, Frame, Wait, kill_message, receive, send_part, start_message};
