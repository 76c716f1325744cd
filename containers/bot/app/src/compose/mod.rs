//! The composition root: connects the core with its models, stores and workspaces.

mod build;
mod configuration;
mod plan;
mod redactor;
mod workspaces;

pub use build::Built;
pub use configuration::{data_dir, rehearsal_model};
pub use plan::{Plan, missing_origins, plan};
pub use workspaces::{configured_workspaces, workspaces};
