//! The Durable Object that owns the bot's container, and through which every request to the bot goes (document 1
//! section 4.6, resident supplement 13).
//!
//! - **Key:** [`NAME`], one object and therefore one container.
//! - **Storage:** one text, the lifecycle, written with every change.
//! - **Invariants:** those of `ars_container::lifecycle`: one container at a time, across crashes, evictions and deploys.
//! - **Routes:** `/admin/restart` is answered here; every other path is the bot's, whatever it is.
//! - **Alarm:** the limit of a drain.
//! - **Atomicity:** each method is one synchronous span; what it wants done is carried out by
//!   `durable-objects/platform/js/container.js` before anything else of the object runs.
//!
//! Not here: the decisions (`ars_container`, `ars_proxy`), what awaits (`container.js` and those beside it), the exported class (the Worker's newtype).
#![forbid(unsafe_code)]

mod object;
mod request;
mod restart;

pub use ars_container::restart::{ANSWER_LIMIT, BODY_LIMIT};
pub use ars_proxy::environment::PORT;
pub use object::{BotObject, version};
pub use request::{
    Way, connection_lost, environment, exit_code, is_unreachable, misconfigured, pass_back, unavailable, way,
};
pub use restart::{
    Caller, Force, restart_caller, restart_elsewhere, restart_force, restart_question, restart_refusal,
    restart_without_bot,
};

/// The namespace's name in the Worker's settings.
pub const BINDING: &str = "BOT";
/// The one object of it.
pub const NAME: &str = "singleton";
/// What the Worker, and with it the image, was built from.
pub const BUILD: &str = match option_env!("ARS_BUILD_COMMIT") {
    Some(commit) => commit,
    None => "unknown",
};
