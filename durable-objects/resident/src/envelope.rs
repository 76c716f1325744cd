//! A call's document: an object does not know its own name.

use ars_resident::names::Resource;
use ars_resident_engine::Call;
use serde::{Deserialize, Serialize};

/// A call with the object's resource.
#[derive(Debug, Serialize, Deserialize)]
pub struct Envelope {
    /// Resource of the called object.
    pub resource: Resource,
    /// The call itself.
    pub call: Call,
}
