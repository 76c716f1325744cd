//! `/ingress`: a request for an agent over HTTP.

mod body;
mod channel;
mod error;
mod first_requests;
mod idempotency;
mod message;
mod post;
mod routes;

pub(crate) use channel::HttpChannel;
pub(crate) use error::IngressError;
pub(crate) use message::{Address, message};
pub(crate) use post::dispatch;
use post::post;
pub use routes::routes;
