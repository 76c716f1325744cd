//! A stop's actor on the wire. Not here: the stop's mode.

use ars_events::{Actor, ActorKind};
use ars_wire::ledger::StopActor;

/// Returns an actor's wire form.
pub(super) fn to_wire(actor: &Actor) -> StopActor {
    StopActor {
        kind: actor.kind.as_str().to_owned(),
        id: actor.id.clone(),
    }
}

/// Returns a stop's actor, or `None` for a kind that this version does not know.
pub(super) fn from_wire(actor: &StopActor) -> Option<Actor> {
    ActorKind::parse(&actor.kind).map(|kind| Actor::new(kind, &actor.id))
}
