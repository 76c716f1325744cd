//! The bot's admin routes. The edge performs a restart and asks here for the authorization.

mod authorize;
mod crash;
mod routes;

use authorize::authorize;
use crash::crash;
pub(crate) use routes::routes;
