//! Gates for the surfaces: the ingress, the admin routes and the dashboard.

pub(crate) mod access;
pub(crate) mod admin;
pub(crate) mod attempts;
pub(crate) mod gate;
mod origin;
pub(crate) mod session;
pub(crate) mod viewer;

pub(crate) use origin::{Origin, is_own, is_same_origin, is_withheld};
