//! `/ingress`: a request for an agent over HTTP (document 1 sections 2.1 to 2.4 and 4.1).

mod body;
mod channel;
mod post;

pub(crate) use post::post;
