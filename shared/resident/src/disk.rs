//! Room on the disk: samples, the reserve, a tree's projected size, admission, eviction.

use std::collections::BTreeMap;

use ars_types::UnixMillis;
use serde::{Deserialize, Serialize};

use crate::names::StrictThreadKey;
use crate::pool::PoolUser;
use crate::refusal::{Refusal, Token};
use crate::sorted::sorted_by_key;
use crate::thread::EVICTION_IDLE_MIN_MS;

/// Share of mirror, dependencies and checkout that staging a snapshot needs, in percent.
const STAGING_PERCENT: u64 = 60;
/// Smallest free space that remains in any case.
const RESERVE_MIN_KIB: u64 = 1_048_576;
/// Free space that remains on a large disk, in percent.
const RESERVE_PERCENT: u64 = 5;
/// Share of the dependencies that a tree with other lockfiles adds, in percent.
const DIVERGED_PERCENT: u64 = 25;

/// Smallest size with which a tree counts in the headroom.
const TREE_MIN_KIB: u64 = 1_024;

/// A disk measurement. A part that could not be read is `null`, never 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sample {
    /// When it was taken.
    pub at: UnixMillis,
    /// The disk's total size.
    #[serde(rename = "totalKiB")]
    pub total_kib: u64,
    /// Space that is in use.
    #[serde(rename = "usedKiB")]
    pub used_kib: u64,
    /// Space that is free.
    #[serde(rename = "freeKiB")]
    pub free_kib: u64,
    /// Used space by part.
    pub parts: Parts,
}

/// Parts of the space in use. A file with several links counts for the first part that has a link.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Parts {
    /// Space for the mirror.
    pub mirror: Option<u64>,
    /// Space for the dependency store.
    pub deps: Option<u64>,
    /// Space for the checkout.
    pub checkout: Option<u64>,
    /// Space for each thread's tree.
    pub threads: BTreeMap<StrictThreadKey, Option<u64>>,
    /// Space for each user's home.
    pub homes: BTreeMap<PoolUser, Option<u64>>,
    /// Space for everything else.
    pub other: Option<u64>,
}

impl Parts {
    /// Returns the space that the resident itself uses. The disk may have other contents, above all
    /// on a shared machine.
    fn own_kib(&self) -> u64 {
        let Self {
            mirror,
            deps,
            checkout,
            threads,
            homes,
            other: _,
        } = self;
        let all = [mirror, deps, checkout]
            .into_iter()
            .chain(threads.values())
            .chain(homes.values());
        all.copied().flatten().fold(0, u64::saturating_add)
    }
}

impl Sample {
    /// Makes a sample. Everything that is in no part counts as other.
    pub fn new(at: UnixMillis, total_kib: u64, free_kib: u64, parts: Parts) -> Self {
        let used_kib = total_kib.saturating_sub(free_kib);
        let parts = Parts {
            other: Some(used_kib.saturating_sub(parts.own_kib())),
            ..parts
        };
        Self {
            at,
            total_kib,
            used_kib,
            free_kib,
            parts,
        }
    }

    /// Returns the space that must stay free: room to stage a snapshot, and a floor.
    /// The floor is a share of the disk, or of a smaller budget.
    pub fn reserve_kib(&self, budget_mb: Option<u64>) -> u64 {
        let Parts {
            mirror,
            deps,
            checkout,
            ..
        } = &self.parts;
        let staged = [mirror, deps, checkout]
            .into_iter()
            .flatten()
            .fold(0, |sum: u64, part| sum.saturating_add(*part));
        let total_kib = budget_mb.map_or(self.total_kib, |mb| {
            self.total_kib.min(mb.saturating_mul(1024))
        });
        let floor = RESERVE_MIN_KIB.max(percent(total_kib, RESERVE_PERCENT));
        percent(staged, STAGING_PERCENT).saturating_add(floor)
    }
}

fn percent(value: u64, percent: u64) -> u64 {
    value / 100 * percent + value % 100 * percent / 100
}

/// How a tree comes to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// The tree is there already.
    Reuse,
    /// Its dependencies are in the store.
    Linked,
    /// Its lockfiles differ from the checkout's lockfiles.
    Diverged,
}

/// Returns the space that a tree adds, or `None` if a part could not be read.
pub fn projection_kib(sample: &Sample, arrival: Arrival) -> Option<u64> {
    match arrival {
        Arrival::Reuse => Some(0),
        Arrival::Linked => sample.parts.checkout,
        Arrival::Diverged => Some(
            sample
                .parts
                .checkout?
                .saturating_add(percent(sample.parts.deps?, DIVERGED_PERCENT)),
        ),
    }
}

/// Returns how many more trees with linked dependencies have room, or `None` if a part could not be
/// read. A tree without a size counts as 1 MiB.
pub fn headroom(sample: &Sample, budget_mb: Option<u64>) -> Option<u64> {
    let tree_kib = projection_kib(sample, Arrival::Linked)?.max(TREE_MIN_KIB);
    let on_disk = sample.free_kib.saturating_sub(sample.reserve_kib(None));
    let in_budget = budget_mb.map_or(u64::MAX, |mb| {
        left_kib(sample, mb).saturating_sub(sample.reserve_kib(Some(mb)))
    });
    Some(on_disk.min(in_budget) / tree_kib)
}

/// Returns the resident's unused budget.
fn left_kib(sample: &Sample, budget_mb: u64) -> u64 {
    budget_mb
        .saturating_mul(1024)
        .saturating_sub(sample.parts.own_kib())
}

/// The space on which an attach is decided.
#[derive(Debug, Clone)]
pub struct Room<'a> {
    /// The sample that was taken last.
    pub sample: &'a Sample,
    /// Free space now, if it could be read.
    pub free_kib: Option<u64>,
    /// Projections for attaches that were admitted and are not on the disk yet.
    pub admitted_kib: u64,
    /// Budget from the resident's record.
    pub budget_mb: Option<u64>,
}

/// A decision about an attach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskDecision {
    /// There is room, or the space is unknown.
    Admit {
        /// Projection to remember until the tree is on the disk.
        admitted_kib: u64,
    },
    /// At least this space is missing.
    Short {
        /// Missing space in KiB.
        missing_kib: u64,
    },
}

/// Decides whether a tree has room. Unknown space is never a rejection.
pub fn admit(room: &Room<'_>, arrival: Arrival) -> DiskDecision {
    let projection = projection_kib(room.sample, arrival);
    let admitted_kib = projection.unwrap_or(0);
    let Some(free) = room.free_kib else {
        return DiskDecision::Admit { admitted_kib };
    };
    let missing = |free: u64, budget_mb| {
        // A tree that is there already needs no room.
        let needed = match arrival {
            Arrival::Reuse => 0,
            Arrival::Linked | Arrival::Diverged => room
                .sample
                .reserve_kib(budget_mb)
                .saturating_add(admitted_kib),
        };
        needed.saturating_sub(free.saturating_sub(room.admitted_kib))
    };
    let in_budget = room
        .budget_mb
        .map_or(0, |mb| missing(left_kib(room.sample, mb), Some(mb)));
    match missing(free, None).max(in_budget) {
        0 => DiskDecision::Admit { admitted_kib },
        missing_kib => DiskDecision::Short { missing_kib },
    }
}

/// A tree that may be evicted to make room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Key of the thread.
    pub thread: StrictThreadKey,
    /// When it last attached.
    pub last_attach_at: UnixMillis,
    /// Number of operations in flight.
    pub in_flight: u32,
    /// The tree was checked and has no unsaved work.
    pub is_clean: bool,
    /// It is the default branch's tree.
    pub is_default_ref: bool,
}

/// Why a tree stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeepReason {
    /// It requests the room.
    Requesting,
    /// Operations are in flight.
    Busy,
    /// It is the default branch.
    DefaultRef,
    /// It was attached less than 10 minutes ago.
    Recent,
    /// It has unsaved work, or could not be checked.
    Dirty,
}

impl KeepReason {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Requesting => "requesting",
            Self::Busy => "busy",
            Self::DefaultRef => "default-ref",
            Self::Recent => "recent",
            Self::Dirty => "dirty",
        }
    }
}

/// Returns the threads to evict, coldest first, and why the others stay.
pub fn evictable<'a>(
    candidates: &'a [Candidate],
    requester: &StrictThreadKey,
    now: UnixMillis,
) -> (Vec<&'a StrictThreadKey>, BTreeMap<KeepReason, usize>) {
    let mut kept = BTreeMap::new();
    let mut evicted: Vec<&Candidate> = Vec::new();
    for candidate in candidates {
        let reason = match candidate {
            _ if candidate.thread == *requester => Some(KeepReason::Requesting),
            _ if candidate.in_flight > 0 => Some(KeepReason::Busy),
            _ if candidate.is_default_ref => Some(KeepReason::DefaultRef),
            _ if now - candidate.last_attach_at < EVICTION_IDLE_MIN_MS => Some(KeepReason::Recent),
            _ if !candidate.is_clean => Some(KeepReason::Dirty),
            _ => None,
        };
        match reason {
            Some(reason) => *kept.entry(reason).or_default() += 1,
            None => evicted.push(candidate),
        }
    }
    let evicted = sorted_by_key(evicted, |candidate| candidate.last_attach_at);
    (
        evicted
            .into_iter()
            .map(|candidate| &candidate.thread)
            .collect(),
        kept,
    )
}

/// Rejects an attach without room. The text has sizes and counts, never another thread's key.
pub fn disk_pressure(missing_kib: u64, kept: &BTreeMap<KeepReason, usize>) -> Refusal {
    let kept: Vec<String> = kept
        .iter()
        .map(|(reason, count)| format!("{count} {}", reason.as_str()))
        .collect();
    let trees = if kept.is_empty() {
        "no tree to evict".to_owned()
    } else {
        format!("trees kept: {}", kept.join(", "))
    };
    let detail = format!("{} MiB are missing; {trees}", missing_kib.div_ceil(1024));
    Refusal::new(Token::DiskPressure, &detail)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GIB: u64 = 1_048_576;

    fn sample(deps: Option<u64>) -> Sample {
        let parts = Parts {
            mirror: Some(GIB),
            deps,
            checkout: Some(GIB),
            ..Parts::default()
        };
        Sample::new(0, 40 * GIB, 20 * GIB, parts)
    }

    fn thread(number: u8) -> StrictThreadKey {
        StrictThreadKey::parse(format!("load:{number}")).unwrap()
    }

    #[test]
    fn reserve_has_staging_and_a_floor() {
        assert_eq!(sample(Some(3 * GIB)).reserve_kib(None), 3 * GIB + 2 * GIB);
        let small = Sample {
            total_kib: 4 * GIB,
            ..sample(None)
        };
        assert_eq!(small.reserve_kib(None), percent(2 * GIB, 60) + GIB);
    }

    #[test]
    fn headroom_counts_trees_beside_the_reserve() {
        let sample = sample(Some(GIB));
        let free = sample.reserve_kib(None) + 3 * GIB - 1;
        assert_eq!(
            headroom(
                &Sample {
                    free_kib: free,
                    ..sample.clone()
                },
                None
            ),
            Some(2)
        );
        assert_eq!(
            headroom(&sample, Some(3 * 1024)),
            Some(0),
            "the budget is used up"
        );
        assert!(
            headroom(&sample, Some(10 * 1024)) > Some(0),
            "the rest of the disk is not the resident's"
        );
        let large = Sample {
            total_kib: 2_048 * GIB,
            free_kib: 1_024 * GIB,
            ..sample.clone()
        };
        assert!(
            headroom(&large, Some(10 * 1024)) > Some(0),
            "a share of the budget stays free in it"
        );
        let small = Parts {
            checkout: Some(0),
            ..sample.parts.clone()
        };
        let small = Sample {
            parts: small,
            ..sample.clone()
        };
        let free_kib = small.reserve_kib(None) + 3 * TREE_MIN_KIB;
        assert_eq!(headroom(&Sample { free_kib, ..small }, None), Some(3));
        let unread = Parts {
            checkout: None,
            ..sample.parts.clone()
        };
        assert_eq!(
            headroom(
                &Sample {
                    parts: unread,
                    ..sample
                },
                None
            ),
            None
        );
    }

    #[test]
    fn unread_part_is_null() {
        let json = serde_json::to_value(sample(None)).unwrap();
        assert_eq!(
            (&json["parts"]["deps"], &json["totalKiB"]),
            (&serde_json::Value::Null, &(40 * GIB).into())
        );
        assert_eq!(projection_kib(&sample(None), Arrival::Diverged), None);
        assert_eq!(
            projection_kib(&sample(Some(4 * GIB)), Arrival::Diverged),
            Some(2 * GIB)
        );
    }

    #[test]
    fn attach_needs_room_beside_the_reserve() {
        let sample = sample(Some(GIB));
        let room = |free_kib, admitted_kib, budget_mb| Room {
            sample: &sample,
            free_kib,
            admitted_kib,
            budget_mb,
        };
        let needed = sample.reserve_kib(None) + GIB;
        let admits =
            |room: Room<'_>, arrival| matches!(admit(&room, arrival), DiskDecision::Admit { .. });
        assert!(admits(room(Some(needed), 0, None), Arrival::Linked));
        assert!(!admits(room(Some(needed - 1), 0, None), Arrival::Linked));
        assert!(
            !admits(room(Some(needed), 1, None), Arrival::Linked),
            "an admitted tree has its room already"
        );
        assert!(
            !admits(room(Some(needed), 0, Some(3 * 1024)), Arrival::Linked),
            "the budget is used up"
        );
        assert!(admits(
            room(Some(needed), 0, Some(10 * 1024)),
            Arrival::Linked
        ));
        assert!(
            admits(room(None, 0, None), Arrival::Linked),
            "unknown space is no rejection"
        );
        assert!(admits(room(Some(0), 0, None), Arrival::Reuse));
    }

    #[test]
    fn pressure_does_not_name_threads() {
        let now = EVICTION_IDLE_MIN_MS;
        let candidate = |number, last_attach_at| Candidate {
            thread: thread(number),
            last_attach_at,
            in_flight: 0,
            is_clean: true,
            is_default_ref: false,
        };
        let all = [
            candidate(1, 0),
            Candidate {
                in_flight: 1,
                ..candidate(2, 0)
            },
            Candidate {
                is_clean: false,
                ..candidate(3, 0)
            },
            Candidate {
                is_default_ref: true,
                ..candidate(4, 0)
            },
            candidate(5, 1),
            candidate(6, 0),
            candidate(7, -5),
        ];
        let (evicted, kept) = evictable(&all, &thread(1), now);
        assert_eq!(evicted, [&thread(7), &thread(6)], "coldest first");
        let refusal = disk_pressure(2_049, &kept);
        assert_eq!(
            refusal.error(),
            "disk-pressure: 3 MiB are missing; trees kept: 1 requesting, 1 busy, 1 default-ref, 1 recent, 1 dirty"
        );
    }

    proptest! {
        /// Attaches that are admitted in turn never exceed the free space beside the reserve.
        #[test]
        fn admitted_trees_fit(free in 0..64 * GIB, attaches in 0..60_usize) {
            let sample = sample(Some(GIB));
            let mut admitted = 0;
            for _ in 0..attaches {
                let room = Room { sample: &sample, free_kib: Some(free), admitted_kib: admitted, budget_mb: None };
                if let DiskDecision::Admit { admitted_kib } = admit(&room, Arrival::Linked) {
                    admitted += admitted_kib;
                }
            }
            prop_assert!(admitted == 0 || admitted + sample.reserve_kib(None) <= free);
        }
    }
}
