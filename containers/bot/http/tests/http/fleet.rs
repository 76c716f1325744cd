//! Residents in every state, for testing their pages.

use std::sync::Arc;

use ars_resident::{
    disk::{Parts, Sample},
    lifecycle::StateWord,
    names::{Sha, StrictThreadKey},
    wire::{Live, ThreadRow, Unreachable},
};
use serde_json::json;

use crate::memory_residents::MemoryResidents;

/// KiB in a GiB.
const GIB: u64 = 1_048_576;
/// Milliseconds in a minute.
const MINUTE: i64 = 60_000;

/// Returns residents in four states. Those in `acme/calculator` have every part.
pub fn fleet(now: i64) -> Arc<MemoryResidents> {
    let residents = MemoryResidents::default();
    residents.insert("acme/calculator", StateWord::Warm, None);
    residents.insert("acme/site", StateWord::Refreshing, None);
    residents.insert(
        "acme/app",
        StateWord::Degraded,
        Some("build-failed: exit 101: error: <b>expected one of</b> `;`"),
    );
    residents.insert("acme/gone", StateWord::Warm, None);
    residents.change("acme/calculator", |view| {
        view.sha = Some(Sha::parse("3f9c2ab7".repeat(5)).unwrap());
        view.updated_at = now - 74 * MINUTE;
        view.provisioned_at = Some(now - 300 * MINUTE);
        view.last_refresh_at = Some(now - 4 * MINUTE - 12_000);
        view.attach_ms = (0..48)
            .map(|n| 96 + (n * 37) % 61 + if n % 11 == 0 { 140 } else { 0 })
            .collect();
        view.threads = vec![
            ThreadRow {
                dirty: Some(true),
                checkpoint: Some("refs/ars/r7/3".into()),
                ..tree("http:default:parser", "main", now - MINUTE)
            },
            ThreadRow {
                dirty: Some(false),
                ..tree(
                    "slack:C024BE91L:1760000000.1",
                    "fix/division-by-zero",
                    now - 9 * MINUTE,
                )
            },
            ThreadRow {
                unchecked_since: Some(now - 3 * MINUTE),
                ..tree("http:default:docs", "main", now - 12 * MINUTE)
            },
            ThreadRow {
                user: None,
                evicted: true,
                evicted_at: Some(now - 20 * MINUTE),
                evicted_why: Some("clean-idle".into()),
                ..tree("http:default:old", "main", now - 90 * MINUTE)
            },
        ];
        let tree_sizes = view.threads[..2]
            .iter()
            .map(|row| (row.thread_key.clone(), Some(GIB / 3)));
        let parts = Parts {
            mirror: Some(GIB / 2),
            deps: Some(3 * GIB),
            checkout: Some(GIB),
            threads: tree_sizes.collect(),
            ..Parts::default()
        };
        view.disk = Some(Sample::new(now - 30_000, 20 * GIB, 13 * GIB, parts));
        view.in_flight = 1;
    });
    residents.change("acme/site", |view| {
        view.last_refresh_at = Some(now - 31 * MINUTE);
        view.disk = Some(Sample::new(
            now,
            20 * GIB,
            2 * GIB,
            Parts {
                checkout: None,
                ..Parts::default()
            },
        ));
    });
    residents.change("acme/app", |view| {
        view.last_refresh_error = Some("build-failed: exit 101".into());
        view.last_refresh_at = Some(now - 200 * MINUTE);
    });
    let mut rows = residents.rows.lock().unwrap();
    rows[3].live = Live::Unreachable(Unreachable {
        error: "the object did not answer".into(),
    });
    drop(rows);
    Arc::new(residents)
}

fn tree(key: &str, git_ref: &str, last_attach_at: i64) -> ThreadRow {
    let row = json!({
        "threadKey": StrictThreadKey::parse(key).unwrap(), "ref": git_ref, "sha": "8d21e0f4".repeat(5),
        "user": "worker2", "deps": "hardlink", "boundAt": 1, "lastAttachAt": last_attach_at, "evicted": false,
        "evictedAt": null, "evictedWhy": null,
    });
    serde_json::from_value(row).unwrap()
}
