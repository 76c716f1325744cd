//! What is asked.

use crate::bench::load::{Ask, Source, always};

/// Bytes of a large body, about what a request with attached documents has.
const LARGE_BODY: usize = 1 << 20;

/// One row of the table.
pub struct Row {
    /// What it is called there.
    pub name: &'static str,
    /// Clients that ask at once.
    pub clients: usize,
    /// What each asks again and again.
    pub ask: fn() -> Ask,
}

/// All of them.
pub const ALL: [Row; 4] = [
    Row { name: "small JSON", clients: 1, ask: || Ask::get("/small") },
    Row { name: "small JSON, 16 at once", clients: 16, ask: || Ask::get("/small") },
    Row { name: "1 MB up", clients: 1, ask: || Ask::post("/large", "x".repeat(LARGE_BODY)) },
    Row { name: "stream of 100 frames", clients: 1, ask: || Ask::get("/frames") },
];

impl Row {
    /// The clients' requests.
    pub fn sources(&self) -> Vec<Source> {
        (0..self.clients).map(|_| always((self.ask)())).collect()
    }
}
