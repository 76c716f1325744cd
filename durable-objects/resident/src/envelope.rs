//! The document of a call: an object does not know its own name.

use ars_resident::names::Resource;
use ars_resident_engine::Call;
use serde::{Deserialize, Serialize};

/// A call with the resource of its object.
#[derive(Debug, Serialize, Deserialize)]
pub struct Envelope {
    /// The resource.
    pub resource: Resource,
    /// The call.
    pub call: Call,
}
