//! `/ingress/github`: the surface of the code host, with its table in the configuration file.

mod table;
mod webhooks;

pub use table::Webhook;
pub use webhooks::Github;
