//! Sets up the edge's tools on a developer's machine, builds Workers, and runs them on workerd.
//!
//! For `cargo xtask` and the tests; not deployed. Blocking, without an async runtime. The Workers' settings come from
//! their `wrangler.toml`.
#![forbid(unsafe_code)]

mod bucket;
mod build;
mod cache;
mod command;
mod commit;
mod config;
mod edge;
mod npm;
mod pack;
mod process;
mod resident;
mod tools;
mod wrangler;

use std::path::{Path, PathBuf};

pub use build::{
    Built, RESIDENT_WORKER_GZIP_LIMIT, STATE_WORKER_GZIP_LIMIT, build_edge_worker,
    build_resident_worker, build_state_worker, build_worker, target_dir,
};
pub use cache::cache_dir;
pub use command::{cargo, run as run_tool};
pub use commit::commit;
pub use config::TICK_ROUTE;
pub use edge::{Bot, DEV_BOT_URL};
pub use npm::{NpmTools, cached_packages, ensure_npm};
pub use process::{Engine, Settings, Workerd};
pub use resident::{RESIDENT_TOKENS, ResidentSetup, resident_settings};
pub use tools::{
    CargoTools, ensure_cargo_deny, ensure_cargo_tools, ensure_rust_target, ensure_target,
};
pub use wrangler::{BucketBinding, ObjectBinding, Wrangler};

/// Receives a long step's progress, a line at a time.
pub type Progress<'a> = &'a dyn Fn(&str);

/// The checkout this binary was built from.
pub fn repo_root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

/// The edge Worker's crate.
pub fn edge_worker_dir() -> PathBuf {
    repo_root().join("workers/edge")
}

/// The state Worker's crate.
pub fn state_worker_dir() -> PathBuf {
    repo_root().join("workers/state")
}

/// The resident Worker's crate.
pub fn resident_worker_dir() -> PathBuf {
    repo_root().join("workers/resident")
}
