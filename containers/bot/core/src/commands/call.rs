//! The context for a single invocation.

use std::sync::Arc;

use ars_auth::{Viewer, policy::Resource, policy::decide};
use ars_commands::{Definition, Registry};
use ars_settings::Scopes;

use super::{Caller, error::CommandError};
use crate::{
    context::{RunContext, overrides::Overrides},
    queries::{Queries, Reader},
};

/// An authorized and validated invocation.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    /// The process state.
    pub(super) context: &'a RunContext,
    /// The caller, with the configured grants.
    pub(super) caller: &'a Caller,
    /// The caller as a run reader.
    pub(super) viewer: &'a Viewer,
    pub(super) definition: &'static Definition,
}

impl<'a> Call<'a> {
    /// Returns this installation's commands.
    pub(super) fn registry(&self) -> &'a Registry {
        self.context.command_registry()
    }

    /// Returns the run queries.
    pub(super) fn queries(&self) -> Queries {
        Queries::new(self.context.clone())
    }

    /// Returns the caller as a run reader without a capability token.
    pub(super) fn reader(&self) -> Reader<'a> {
        Reader {
            viewer: self.viewer,
            token: "",
            route: self.definition.id,
        }
    }

    /// Returns the overrides in effect.
    pub(super) fn current_overrides(&self) -> Arc<Scopes> {
        let overrides = self.context.deps().capabilities.overrides.as_ref();
        overrides.map(Overrides::current).unwrap_or_default()
    }

    /// Returns the channel from the input, or the caller's own.
    ///
    /// # Errors
    ///
    /// There is neither.
    pub(super) fn channel(&self, given: Option<String>) -> Result<String, CommandError> {
        let own = || {
            self.caller
                .origin
                .as_ref()
                .map(|origin| origin.channel.clone())
        };
        given.or_else(own).ok_or_else(|| {
            CommandError::invalid(
                "channel is missing, because this caller has none of its own: name one, such as http:default",
            )
        })
    }

    /// Decides about an action on a resource that the handler found.
    pub(super) fn permits(
        &self,
        action: &str,
        resource: &Resource<'_>,
    ) -> Result<(), CommandError> {
        decide(&self.caller.actor, action, resource).map_err(CommandError::denied)
    }
}
