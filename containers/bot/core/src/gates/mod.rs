//! Gates on agents and repositories, and a repository's identity.

mod agents;
mod code_host;
mod origin;
mod repositories;

pub(crate) use agents::authorize_agent;
pub(crate) use code_host::{code_host_of, code_host_of_user};
pub(crate) use origin::is_same as is_same_place;
pub(crate) use repositories::{
    authorize_name, configured_place, find, is_allowed, resolve_repository,
};
