//! Signs in to the dashboard in mode `token`, and out.

mod sign_in;
mod sign_out;

pub(super) use sign_in::{SCRIPT, SIGN_IN, STYLE, form, refused, script, style, submit};
pub(super) use sign_out::{SIGN_OUT, leave};
