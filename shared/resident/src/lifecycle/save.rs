//! Snapshots while the code host does not respond, so that checkpoints do not wait for it.
//!
//! The state stays degraded. Not here: snapshots that refreshes make.

use ars_types::UnixMillis;

use super::cycle::{Cycle, CycleKind};
use super::machine::Resident;
use super::protocol::{Action, Found, Output, Step};
use super::refresh::{RefreshPlan, plan_refresh};

const STEPS: [Step; 2] = [Step::RevParse, Step::Snapshot];

impl Resident {
    /// Starts a snapshot of the tree that the facts name, after a failed refresh found these
    /// values. Another tree would not be served after a restore, so it is not saved.
    pub(super) fn begin_save(&mut self, found: &Found, now: UnixMillis) -> Vec<Action> {
        let Some(facts) = &self.facts else {
            return Vec::new();
        };
        let stamp = facts.stamp.clone();
        let has_install = self
            .config
            .as_ref()
            .is_some_and(|config| config.has_install);
        let plan = plan_refresh(
            Some(facts),
            &stamp.sha,
            &stamp.lockfile_hash,
            &found.markers,
            has_install,
        );
        if !found.has_new_checkpoint || plan != RefreshPlan::Unchanged {
            return Vec::new();
        }
        let mut cycle = Cycle::new(CycleKind::Save, &STEPS, now);
        cycle.found.git_ref = Some(stamp.git_ref);
        cycle.found.key = Some(stamp.lockfile_hash);
        self.cycle = Some(cycle);
        self.run_step(now)
    }

    /// Records a step's result. The last step replaces the snapshot.
    pub(super) fn saved(&mut self, output: Output, now: UnixMillis) -> Vec<Action> {
        let of_facts = self.facts.as_ref().map(|facts| &facts.stamp.sha);
        if matches!(&output, Output::Commit(sha) if of_facts != Some(sha))
            || !self.record(output, now)
        {
            return self.drop_cycle();
        }
        let snapshot = self
            .cycle
            .as_mut()
            .and_then(|cycle| cycle.found.snapshot.take());
        if snapshot.is_none() {
            return self.next_step(now);
        }
        self.cycle = None;
        self.replace_snapshot(snapshot);
        vec![Action::Housekeep]
    }
}
