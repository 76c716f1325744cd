//! Who reads runs: an authenticated actor and its permissions on runs.
//!
//! Not here: authentication (`gate`, `dashboard`) and the access log.

use ars_types::Visibility;

use crate::{
    Actor, Denied,
    policy::{Listing, Resource, decide, listing},
};

/// The permission to read runs, in lists and singly.
const READ: &str = "runs:read";
/// The permission to stop runs.
const WRITE: &str = "runs:write";

/// An actor that was authenticated.
#[derive(Debug, Clone)]
pub struct Viewer {
    actor: Actor,
}

impl Viewer {
    /// Returns the viewer for an actor with all the actor's grants.
    pub fn new(actor: Actor) -> Self {
        Self { actor }
    }

    /// Returns the actor's id, for the audit log.
    pub fn id(&self) -> &str {
        &self.actor.id
    }

    /// Returns the filter for the runs that the viewer may read.
    pub fn readable(&self) -> Listing {
        listing(&self.actor, READ)
    }

    /// Returns `true` for a run in the viewer's channels, their own run and a public run.
    pub fn may_read(&self, channel: &str, visibility: Visibility, user: &str) -> bool {
        self.check_read(channel, visibility, user).is_ok()
    }

    /// Checks that the viewer may read a run.
    ///
    /// # Errors
    ///
    /// It may not.
    pub fn check_read(
        &self,
        channel: &str,
        visibility: Visibility,
        user: &str,
    ) -> Result<(), Denied> {
        decide(
            &self.actor,
            READ,
            &Resource::Run {
                channel,
                visibility,
                user,
            },
        )
    }

    /// Checks that the viewer may stop a run.
    /// Ownership does not grant this, so the owner is no argument.
    ///
    /// # Errors
    ///
    /// It may not.
    pub fn check_stop(&self, channel: &str, visibility: Visibility) -> Result<(), Denied> {
        decide(
            &self.actor,
            WRITE,
            &Resource::Run {
                channel,
                visibility,
                user: "",
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Grants, Set};

    #[test]
    fn viewer_without_channels_reads_public_and_own_runs() {
        let viewer = Viewer::new(Actor::browser("access:ann"));
        assert!(viewer.may_read("C1", Visibility::Public, "slack:U1"));
        assert!(viewer.may_read("C1", Visibility::Dm, "access:ann"));
        for hidden in [
            Visibility::Private,
            Visibility::Dm,
            Visibility::Machine,
            Visibility::Unknown,
        ] {
            assert!(!viewer.may_read("C1", hidden, "slack:U1"), "{hidden}");
        }
        assert!(viewer.check_stop("C1", Visibility::Public).is_err());
    }

    #[test]
    fn stopping_needs_its_own_grant() {
        let local = Actor::browser("access:loopback").with(&Grants {
            channels: Set::All,
            ..Grants::default()
        });
        let viewer = Viewer::new(local.clone());
        assert!(viewer.may_read("http:default", Visibility::Machine, "http:ann"));
        assert!(
            viewer
                .check_stop("http:default", Visibility::Machine)
                .is_err()
        );
        let granted = local.with(&Grants {
            actions: Set::only(&["runs:write"]),
            ..Grants::default()
        });
        assert!(
            Viewer::new(granted)
                .check_stop("http:default", Visibility::Machine)
                .is_ok()
        );
    }
}
