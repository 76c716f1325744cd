//! Counts an edge's running containers in the background until it is dropped.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ars_engine::Engine;

/// Time between two looks: shorter than a process takes to start.
const LOOK_EVERY: Duration = Duration::from_millis(15);

/// The containers seen so far.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// Every container that ran, in order.
    pub ids: Vec<String>,
    /// Most containers that ran simultaneously.
    pub most: usize,
    /// How often it was looked.
    pub looks: usize,
}

/// Background thread that counts containers.
pub struct Watch {
    seen: Arc<Mutex<Seen>>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Watches containers with this name prefix.
    pub fn start(engine: Arc<Engine>, prefix: String) -> Self {
        let (seen, over) = (Arc::<Mutex<Seen>>::default(), Arc::<AtomicBool>::default());
        let (writer, ends) = (Arc::clone(&seen), Arc::clone(&over));
        let thread = thread::spawn(move || {
            while !ends.load(Ordering::SeqCst) {
                look(&engine, &prefix, &writer);
                thread::sleep(LOOK_EVERY);
            }
        });
        Self {
            seen,
            over,
            thread: Some(thread),
        }
    }

    /// Returns the containers seen so far.
    pub fn seen(&self) -> Seen {
        self.seen.lock().expect("a lock").clone()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            // The panic was printed already.
            let _ = thread.join();
        }
    }
}

fn look(engine: &Engine, prefix: &str, seen: &Mutex<Seen>) {
    // The list fails while a container is removed; the next look succeeds.
    let Ok(mut running) = engine.containers_named(prefix) else {
        return;
    };
    running.retain(|found| found.running);
    let mut seen = seen.lock().expect("a lock");
    seen.looks += 1;
    seen.most = seen.most.max(running.len());
    for container in running {
        if !seen.ids.contains(&container.id) {
            seen.ids.push(container.id);
        }
    }
}
