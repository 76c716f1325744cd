//! The bot's admin routes. The edge performs a restart and asks here for the authorization.

mod authorize;
mod crash;

pub(crate) use authorize::authorize;
pub(crate) use crash::crash;
