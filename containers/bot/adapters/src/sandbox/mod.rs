//! The sandbox of commands: what a program that an agent chose can reach (docs/decisions/0022).
//!
//! Three kinds, chosen once at the start (`choose`). Bubblewrap gives a program its own namespaces with only the
//! folders of `folders`. Landlock and a filter of system calls restrict the thread that starts the program. `none`
//! confines nothing and must be configured. Limits of resources apply to every kind: those of each process, and where
//! the kernel lets the service make control groups (`groups`), those of a run as a whole. The commands of a run share
//! one sandbox, in which a program of the service starts them (`session`).

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
