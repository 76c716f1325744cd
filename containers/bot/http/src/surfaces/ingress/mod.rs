//! `/ingress`: a request for an agent over HTTP.

mod body;
mod channel;
mod post;

pub(crate) use post::post;
