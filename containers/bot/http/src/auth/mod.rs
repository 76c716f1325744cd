//! The gates of the surfaces: the ingress, the admin routes and the run pages.

pub(crate) mod admin;
pub(crate) mod gate;
pub(crate) mod viewer;
