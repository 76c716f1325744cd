//! The actor of a stop on the wire. Not here: the stop's mode.

use ars_events::{Actor, ActorKind};
use ars_wire::ledger::StopActor;

/// Returns the wire form of an actor.
pub(super) fn to_wire(actor: &Actor) -> StopActor {
    StopActor {
        kind: actor.kind.as_str().to_owned(),
        id: actor.id.clone(),
    }
}

/// Returns the actor of a stop, or `None` for one of a kind that this version does not know.
pub(super) fn from_wire(actor: &StopActor) -> Option<Actor> {
    ActorKind::parse(&actor.kind).map(|kind| Actor::new(kind, &actor.id))
}
