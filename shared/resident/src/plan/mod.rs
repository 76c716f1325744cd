//! Plans: each operation's typed steps, as data for the daemon in the container.
//!
//! A program is an argument list. The only shell text is a command from the command table or from
//! `/exec`, and the type allows no other user than the build user and pool users. Not here: the
//! order within cycles (`lifecycle`).

mod attach;
mod command;
mod cycle;
mod publish;
mod restore;
mod shell;
mod spare;
mod step;
mod thread;

#[cfg(test)]
mod plan_tests;

pub use attach::{AttachContext, attach};
pub use command::{
    EXEC_TIMEOUT_DEFAULT_MS, EXEC_TIMEOUT_MAX_MS, OP_TIMEOUT_MS, exec, exec_timeout_ms, op, read,
    write,
};
pub use cycle::{CycleContext, MIRROR_MODE, cycle_step};
pub use publish::{PublishContext, check_out, contains, fetch_ref, note_pushed, push, receive};
pub use restore::{find_checkpoint, restore};
pub use shell::shell_words;
pub use spare::{SpareContext, TAKE_SPARE, make_spare, remove_spare};
pub use step::{Operation, PlanStep, Root, Unprivileged, User};
pub use thread::{
    abandon, adopt_deps, archive_deps, check, check_credential, checkpoint, clean_home,
    empty_trash, evict, install, kill, sweep_deps, write_credential,
};
