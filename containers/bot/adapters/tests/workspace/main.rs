//! Local workspaces against real git, real processes and a real file system.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod bystanders;
mod changes;
mod checkpoints;
mod commands;
mod eviction;
mod files;
mod groups;
mod isolation;
mod listing;
mod logins;
mod metadata;
mod opening;
mod ranges;
mod sandbox;
mod servers;
mod session;
mod submodules;
mod support;
