//! `/ingress`: a request for an agent over HTTP.

mod body;
mod channel;
mod first_requests;
mod idempotency;
mod message;
mod post;

pub(crate) use channel::HttpChannel;
pub(crate) use first_requests::FirstRequests;
pub(crate) use message::{Address, message};
pub(crate) use post::{dispatch, post};
