//! A resident's disk as a bar, and how many trees it has room for.

use ars_resident::{
    disk::{Parts, Sample, headroom},
    registry::Record,
};

/// KiB in a MiB.
const MIB_KIB: u64 = 1_024;
/// KiB in a GiB.
const GIB_KIB: u64 = 1_048_576;
/// Width of the whole bar.
const BAR: u64 = 1_000;

/// The disk bar as shown.
pub(super) struct DiskBar {
    /// The parts in use, in bar order, then the free space.
    pub(super) segments: Vec<Segment>,
    /// Space in use, with the whole.
    pub(super) used: String,
    /// How many more trees have room.
    pub(super) room: String,
}

/// A segment in the bar.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) name: &'static str,
    pub(super) class: &'static str,
    /// Size, or that it could not be read.
    pub(super) size: String,
    pub(super) start: u64,
    pub(super) width: u64,
}

impl DiskBar {
    /// Returns a sample's bar.
    pub(super) fn from_sample(sample: &Sample, record: &Record) -> Self {
        let room = match headroom(sample, record.disk_budget_mb) {
            None => "room for more trees is unknown".to_owned(),
            Some(1) => "room for 1 more tree".to_owned(),
            Some(count) => format!("room for {count} more trees"),
        };
        let used = format!(
            "{} of {} used",
            size(sample.used_kib),
            size(sample.total_kib)
        );
        Self {
            segments: segments(sample),
            used,
            room,
        }
    }
}

fn segments(sample: &Sample) -> Vec<Segment> {
    let Parts {
        mirror,
        deps,
        checkout,
        threads,
        homes,
        other,
    } = &sample.parts;
    let parts = [
        ("Mirror", "mirror", *mirror),
        ("Dependencies", "deps", *deps),
        ("Checkout", "checkout", *checkout),
        ("Trees", "trees", sum(threads.values())),
        ("Homes", "homes", sum(homes.values())),
        ("Other", "other", *other),
        ("Free", "free", Some(sample.free_kib)),
    ];
    let total = sample.total_kib.max(1);
    let mut before: u64 = 0;
    let segment = |(name, class, kib): (&'static str, &'static str, Option<u64>)| {
        let scaled = |kib: u64| {
            u64::try_from(u128::from(kib) * u128::from(BAR) / u128::from(total)).unwrap_or(BAR)
        };
        let start = scaled(before).min(BAR);
        before = before.saturating_add(kib.unwrap_or(0));
        let size = kib.map_or_else(|| "not read".to_owned(), size);
        Segment {
            name,
            class,
            size,
            start,
            width: scaled(before).min(BAR) - start,
        }
    };
    parts.into_iter().map(segment).collect()
}

/// Returns the sum, or `None` if a size is unknown.
fn sum<'a>(sizes: impl Iterator<Item = &'a Option<u64>>) -> Option<u64> {
    sizes
        .copied()
        .try_fold(0, |sum: u64, size| Some(sum.saturating_add(size?)))
}

/// Returns a size for people.
pub(super) fn size(kib: u64) -> String {
    match kib {
        GIB_KIB.. => tenths(kib, GIB_KIB, "GiB"),
        MIB_KIB.. => tenths(kib, MIB_KIB, "MiB"),
        _ => format!("{kib} KiB"),
    }
}

/// Returns a number in a unit. A number below 10 has a single decimal place.
fn tenths(kib: u64, unit: u64, name: &str) -> String {
    let tenths = kib.saturating_mul(10) / unit;
    match tenths {
        100.. => format!("{} {name}", tenths / 10),
        _ => format!("{}.{} {name}", tenths / 10, tenths % 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        for (kib, text) in [
            (3, "3 KiB"),
            (1_536, "1.5 MiB"),
            (50_000, "48 MiB"),
            (20 * GIB_KIB, "20 GiB"),
        ] {
            assert_eq!(size(kib), text);
        }
    }

    #[test]
    fn segments_fill_the_bar() {
        let parts = Parts {
            mirror: Some(100),
            checkout: Some(200),
            ..Parts::default()
        };
        let sample = Sample::new(0, 1_000, 400, parts);
        let segments = segments(&sample);
        let bar: Vec<_> = segments
            .iter()
            .map(|one| (one.class, one.start, one.width))
            .collect();
        assert_eq!(
            bar,
            [
                ("mirror", 0, 100),
                ("deps", 100, 0),
                ("checkout", 100, 200),
                ("trees", 300, 0),
                ("homes", 300, 0),
                ("other", 300, 300),
                ("free", 600, 400),
            ]
        );
        assert_eq!(segments[1].size, "not read");
    }
}
