//! The dependency store: entries by lockfile key, shared by all trees.

mod entry;
mod folders;
mod view;

pub(crate) use entry::{
    COMPLETE, STAGING, entry_path, has_entry, is_entry_of, key_of, scratch_path, staging_path,
    touch, used_at,
};
pub(crate) use folders::{collect, create};
pub(crate) use view::link_view;
