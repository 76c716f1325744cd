//! Git logins at code hosts, which the service has and commands never see.
//!
//! A clone by the service gets the login over a pipe (`workspace`). Git in a sandbox gets none: the
//! command's proxy adds it to requests for the run's repository (`egress`).

mod address;
mod login;
mod source;

pub use address::secrets_of;
pub use source::Logins;

pub(crate) use address::{login_in, without_userinfo};
pub(crate) use login::Login;
