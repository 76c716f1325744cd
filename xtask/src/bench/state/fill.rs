//! Fills both Workers with the same data, at the same time, through their own routes.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Result, ensure};

use super::side::Side;
use crate::bench::load::{Ask, Connection, joined};

/// Connections to each Worker while it is filled: the storage of an object writes what came in together together. No
/// more, because the runtime is not fair to the clients of an object that has no rest: of sixteen, some wait for
/// seconds, and one that has waited for five takes it for gone.
const CLIENTS: usize = 4;

/// Sends every request to both, each request once.
pub fn fill(sides: &[Side; 2], asks: &[Ask]) -> Result<()> {
    let workers = [sides[0].measured()?, sides[1].measured()?];
    let next = [AtomicUsize::new(0), AtomicUsize::new(0)];
    let next = &next;
    thread::scope(|scope| {
        let client = |side: usize| {
            scope.spawn(move || {
                let mut connection = Connection::open(workers[side].address)?;
                let mut request = Vec::new();
                while let Some(ask) = asks.get(next[side].fetch_add(1, Ordering::Relaxed)) {
                    ask.write(&mut request);
                    let (status, _) = connection.exchange(&request)?;
                    ensure!(status == 200, "{} answered {status} while filling", ask.path);
                }
                Ok(())
            })
        };
        let threads: Vec<_> = (0..2 * CLIENTS).map(|nth| client(nth % 2)).collect();
        threads.into_iter().try_for_each(joined)
    })
}
