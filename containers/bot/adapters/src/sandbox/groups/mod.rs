//! Control groups: memory and processes for a whole run (docs/decisions/0029).
//!
//! `find` decides once, at startup, where groups can be made. A run has a single group, which the
//! first command makes. A program is a member before it becomes a command (`member`), so its
//! descendants are members too: it is started from inside, or joins while it waits. They are killed
//! with the last command in the group, and the group is removed with the run (`cleanup`).

mod cleanup;
mod find;
mod folder;
mod member;
mod name;

pub(super) use find::Groups;

pub(crate) use member::{Entrance, Membership, RunGroup};
