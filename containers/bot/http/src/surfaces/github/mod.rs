//! Code host webhooks: a mention, a requested review or a failed check becomes a message
//! (docs/reference/code-host.md#webhooks).
//!
//! Not here: the signature's arithmetic, and the events that become messages
//! (`ars_codehost::webhook`).

mod attempts;
mod channel;
mod comment;
mod deliveries;
mod post;
mod rejected;
mod routes;
mod settings;

pub use channel::CommentChannel;
pub use routes::routes;
pub use settings::Webhooks;
