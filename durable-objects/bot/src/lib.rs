//! The Durable Object that owns the bot's container and passes every request on to the bot.
//!
//! - **Key:** [`NAME`], a single object and therefore a single container.
//! - **Storage:** the container's lifecycle, written after every step, and a single named alarm.
//! - **Invariants:** those in `ars_container::lifecycle`: one container at a time, across crashes,
//!   evictions and deployments.
//! - **Routes:** `/admin/restart` is answered here, every other path by the bot. The Worker checks
//!   callers first ([`rejected`]).
//! - **Alarm:** a drain's deadline.
//! - **Atomicity:** each lifecycle step is a single synchronous span (`ContainerOwner`).
//!
//! Not here: the decisions (`ars_container`, `ars_proxy`), their execution (`ars_platform`), the
//! exported class.
#![forbid(unsafe_code)]

mod gate;
mod object;
mod policy;
mod proxy;
mod restart;

pub use gate::rejected;
pub use object::BotObject;
pub use proxy::connection_lost;

/// The namespace's name in the Worker's settings.
pub const BINDING: &str = "BOT";
/// The only object's name.
pub const NAME: &str = "singleton";
