//! A single resident's engine. One verb per file; [`Engine::answer`] is the entry for every call.

mod admin;
mod attach;
mod call;
mod checkpoint;
mod cycle;
mod debug;
mod deps;
mod detach;
mod drive;
mod engine;
mod evict;
mod exec;
mod op;
mod orphans;
mod publish;
mod ready;
mod room;
mod spare;
mod steps;
mod sweep;
mod view;

pub use call::{Call, Reply};
pub use engine::Engine;
pub use view::Activity;
