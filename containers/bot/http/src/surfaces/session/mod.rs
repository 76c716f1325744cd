//! Signing in to the dashboard in mode `token`.

mod sign_in;

pub(crate) use sign_in::{SIGN_IN, STYLE, form, refused, style, submit};
