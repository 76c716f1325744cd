//! Ends `up --residents`: saves all trees' work before their containers are removed.
//!
//! A tree is detached by force, which saves the work to a checkpoint. A refresh then makes a
//! snapshot with the checkpoints, and the next start restores it.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::residents::Fleet;
use super::signals::Signals;
use crate::terminal::Step;

/// Longest time for all residents together.
const SAVE_LIMIT: Duration = Duration::from_secs(60);
/// How often a refresh is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// Saves what the residents' containers have only on their disks. Prints what could not be saved.
pub fn save(fleet: &Fleet, signals: &Signals) {
    let step = Step::begin("work on residents");
    let saving = Saving {
        fleet,
        signals,
        began: Instant::now(),
    };
    match saving.all(&step) {
        Ok(0) => step.done("none is unsaved"),
        Ok(saved) => step.done(&format!("checkpoints are in the snapshots of {saved}")),
        Err(error) => {
            drop(step);
            eprintln!("unsaved work on residents may be lost: {error:#}");
        }
    }
}

/// An attempt to save everything.
struct Saving<'a> {
    fleet: &'a Fleet,
    signals: &'a Signals,
    began: Instant,
}

impl Saving<'_> {
    /// Returns the number of residents that made a snapshot for it. A failed resident does not stop
    /// the others.
    fn all(&self, step: &Step) -> Result<usize> {
        let (mut saved, mut failed) = (0, Ok(()));
        for resident in self.fleet.residents()? {
            let name = resident["resource"]
                .as_str()
                .context("a resident without a name")?;
            step.update(name);
            match self.one(name, &resident["live"]) {
                Ok(has_snapshot) => saved += usize::from(has_snapshot),
                Err(error) => failed = failed.and(Err(error.context(name.to_owned()))),
            }
        }
        failed.map(|()| saved)
    }

    /// Returns whether the resident had checkpoints, which then are in its snapshot.
    fn one(&self, resource: &str, live: &Value) -> Result<bool> {
        let threads = live["threads"].as_array().context("it does not answer")?;
        let mut kept = Vec::new();
        for thread in threads.iter().filter(|thread| thread["evicted"] == false) {
            self.may_go_on()?;
            let key = &thread["threadKey"];
            let body = json!({ "resource": resource, "threadKey": key, "force": true });
            let (status, answer) = self.fleet.post_as_operator("/detach", &body)?;
            if status != 200 || answer["released"] != true {
                kept.push(format!("{key} stays ({status} {answer})"));
            }
        }
        let live = self.fleet.live(resource)?;
        let is_needed = live["lastCheckpointAt"].is_number();
        if is_needed {
            self.refresh(resource, live)?;
        }
        ensure!(kept.is_empty(), "{}", kept.join(", "));
        Ok(is_needed)
    }

    /// Refreshes the resident until the snapshot has its checkpoints.
    fn refresh(&self, resource: &str, mut live: Value) -> Result<()> {
        let mut requested = None;
        loop {
            match next(&live, requested.as_ref()) {
                Next::Done => return Ok(()),
                Next::Fail => bail!("its refresh failed: {} {}", live["state"], live["reason"]),
                Next::Wait => {}
                Next::Request => {
                    let body = json!({ "op": "refresh-now", "resource": resource });
                    let (status, answer) = self.fleet.post_as_admin("/debug", &body)?;
                    ensure!(status == 200, "POST /debug answered {status}: {answer}");
                    requested = Some(live["updatedAt"].clone());
                }
            }
            self.may_go_on()?;
            thread::sleep(LOOK);
            live = self.fleet.live(resource)?;
        }
    }

    fn may_go_on(&self) -> Result<()> {
        ensure!(!self.signals.insists(), "it was stopped at once");
        ensure!(
            self.began.elapsed() < SAVE_LIMIT,
            "it was not done within {SAVE_LIMIT:?}"
        );
        Ok(())
    }
}

/// What follows from a look at a resident with checkpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// The snapshot has them.
    Done,
    /// The last requested refresh failed.
    Fail,
    /// A cycle runs, or a requested cycle is about to.
    Wait,
    /// A refresh can be requested. During a cycle a request would be ignored.
    Request,
}

/// Decides from a resident's view. `requested` is the state's time at the last request.
fn next(live: &Value, requested: Option<&Value>) -> Next {
    // A cycle that began before the checkpoint may end after it, without it.
    let (saved_at, taken_at) = (
        live["lastCheckpointAt"].as_i64(),
        live["snapshot"]["createdAt"].as_i64(),
    );
    if saved_at < taken_at {
        return Next::Done;
    }
    let is_requested = requested == Some(&live["updatedAt"]);
    match live["state"].as_str() {
        Some("down") => Next::Fail,
        Some("degraded") if requested.is_some() && !is_requested => Next::Fail,
        Some("warm" | "degraded") if !is_requested => Next::Request,
        _ => Next::Wait,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(state: &str, updated_at: i64, created_at: i64) -> Value {
        json!({
            "state": state, "updatedAt": updated_at, "lastRefreshAt": updated_at, "idleSince": 1,
            "lastCheckpointAt": 50, "snapshot": { "createdAt": created_at },
        })
    }

    #[test]
    fn only_a_snapshot_after_the_checkpoint_has_it() {
        let before = json!(60);
        for state in ["warm", "refreshing", "degraded"] {
            assert_eq!(
                next(&live(state, 70, 51), Some(&before)),
                Next::Done,
                "{state}"
            );
        }
        assert_eq!(
            next(&live("refreshing", 60, 40), None),
            Next::Wait,
            "a request would be ignored"
        );
        assert_eq!(
            next(&live("warm", 70, 50), None),
            Next::Request,
            "that cycle began before"
        );
        assert_eq!(next(&live("warm", 70, 50), Some(&json!(70))), Next::Wait);
        assert_eq!(
            next(&live("warm", 70, 50), Some(&before)),
            Next::Request,
            "it came too late"
        );
        assert_eq!(next(&live("degraded", 60, 40), None), Next::Request);
        assert_eq!(next(&live("degraded", 70, 40), Some(&before)), Next::Fail);
        assert_eq!(next(&live("down", 70, 40), None), Next::Fail);
    }
}
