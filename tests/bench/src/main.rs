//! The floor of `cargo xtask bench state`: the stores of the state Worker on rusqlite in process, without HTTP, a
//! runtime or a gate.
//!
//! A folder for the databases is its one argument. It reads orders from standard input, a line of JSON each, and
//! answers each with a line: how long every request took, in nanoseconds. Not here: what is asked (`xtask`).
#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use ars_memory::MemoryStore;
use ars_runs::RunStore;
use ars_sql_native::NativeSql;
use ars_store::{Store, key_of};
use ars_types::UnixMillis;
use ars_wire::state::Route;

/// What to do.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Order {
    /// The route of all its requests.
    path: String,
    /// Their bodies.
    bodies: Vec<String>,
    /// For how long to go round; without it every body is asked once.
    millis: Option<u64>,
}

fn main() -> Result<()> {
    let folder = std::env::args_os().nth(1).context("the folder for the databases is missing")?;
    let mut floor = Floor { folder: folder.into(), runs: HashMap::new(), memory: HashMap::new() };
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let nanos = floor.carry_out(&serde_json::from_str(&line?)?)?;
        writeln!(out, "{}", serde_json::to_string(&nanos)?)?;
        out.flush()?;
    }
    Ok(())
}

struct Floor {
    folder: PathBuf,
    runs: HashMap<String, RunStore<NativeSql>>,
    memory: HashMap<String, MemoryStore<NativeSql>>,
}

impl Floor {
    fn carry_out(&mut self, order: &Order) -> Result<Vec<u64>> {
        let route = Route::of(&order.path).context("no such route")?;
        let first = order.bodies.first().context("an order without a body")?;
        let name = key_of(first, route.key())?.to_string();
        match route {
            Route::Runs(verb) => measure(opened(&mut self.runs, &self.folder, &name)?, verb, order),
            Route::Memory(verb) => measure(opened(&mut self.memory, &self.folder, &name)?, verb, order),
            Route::Friction(_) | Route::Schedules(_) | Route::Transcript(_) | Route::Config(_) => {
                bail!("{} is not measured", order.path)
            }
        }
    }
}

/// The store of this name, opened once.
fn opened<'a, T: Store<NativeSql>>(
    stores: &'a mut HashMap<String, T>,
    folder: &std::path::Path,
    name: &str,
) -> Result<&'a T> {
    if !stores.contains_key(name) {
        let file = folder.join(format!("{}.sqlite", name.replace(':', "-")));
        stores.insert(name.to_owned(), T::open(NativeSql::open(&file)?)?);
    }
    stores.get(name).context("a store that was just opened")
}

fn measure<T: Store<NativeSql>>(store: &T, verb: T::Verb, order: &Order) -> Result<Vec<u64>> {
    let mut nanos = Vec::new();
    let ask = |body: &String, nanos: &mut Vec<u64>| -> Result<()> {
        let began = Instant::now();
        let answer = store.answer(verb, body, now()?)?;
        nanos.push(u64::try_from(began.elapsed().as_nanos())?);
        // The answer is made, whoever reads it.
        std::hint::black_box(answer);
        Ok(())
    };
    match order.millis.map(Duration::from_millis) {
        None => order.bodies.iter().try_for_each(|body| ask(body, &mut nanos))?,
        Some(length) => {
            let began = Instant::now();
            let mut bodies = order.bodies.iter().cycle();
            while let Some(body) = bodies.next().filter(|_| began.elapsed() < length) {
                ask(body, &mut nanos)?;
            }
        }
    }
    Ok(nanos)
}

fn now() -> Result<UnixMillis> {
    Ok(UnixMillis::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis())?)
}
