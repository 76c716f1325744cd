//! Gauges in a soak drill: what a process holds at rest after each round, and whether it grows.
//!
//! A round is a number of equal load units. After each the drill waits until nothing is in
//! progress, and looks. The first fifth of the rounds is warm-up. The lowest reading in the last
//! fifth may exceed the highest in the second fifth by
//! [`GROWTH_MAX`] of the latter. Not here: the loads, which belong to their programs' tests.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

/// Rounds in a short drill: two looks in each fifth.
const ROUNDS: usize = 10;
/// The variable that sets the number of rounds.
const ROUNDS_VARIABLE: &str = "SOAK_ROUNDS";
/// The variable that sets the number of units in a round.
const UNITS_VARIABLE: &str = "SOAK_UNITS";
/// The growth from the second fifth to the last fifth that counts as flat.
pub const GROWTH_MAX: f64 = 0.05;
/// Memory, in KiB, that a process may gain beside that. An allocator returns freed pages late, and
/// each arena, one per working thread, keeps some. In the long run form this is 2.7 KiB for each
/// run between the two fifths.
pub const MEMORY_SLACK_KIB: u64 = 8 << 10;
/// The same for a JavaScript runtime. It grows until its first full collection (docs/platform.md).
pub const RUNTIME_MEMORY_SLACK_KIB: u64 = 96 << 10;
/// Position of memory in a reading.
const MEMORY: usize = 2;
/// Threads that a process may gain beside that. A pool for blocking work has as many as there was
/// work at once, and ends them after ten seconds without any. A leak of one thread per round is
/// beyond it in any form.
const THREADS_SLACK: u64 = 4;
/// Disk space, in KiB, that a folder may gain beside that. A write-ahead log grows to a thousand 4
/// KiB pages before it is used again.
const DISK_SLACK_KIB: u64 = 4 << 10;
/// File descriptors that a process may gain beside that. A pool keeps a connection for each call
/// that there was at once. A leak of one descriptor per round is beyond it in any form.
const DESCRIPTORS_SLACK: u64 = 3;
/// Interval between two looks at a process that comes to rest.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);
/// Equal looks in a row after which a process is at rest.
const EQUAL_LOOKS: u32 = 5;
/// Looks within which it comes to rest after a round: a minute and more.
const LOOKS_MAX: u32 = 3_000;
/// Where the kernel shows control groups.
const GROUPS: &str = "/sys/fs/cgroup";
/// Name prefix for a bot's group.
const GROUP: &str = "ars-";
/// Block size in bytes, in which file sizes on the disk are counted.
const BLOCK_BYTES: u64 = 512;

/// The gauges, in reading order.
const GAUGES: [(&str, u64); 7] = [
    ("file descriptors", DESCRIPTORS_SLACK),
    ("threads", THREADS_SLACK),
    // Each process has its own slack.
    ("memory, KiB", 0),
    ("disk, KiB", DISK_SLACK_KIB),
    ("files", 0),
    ("control groups", 0),
    ("live rows", 0),
];
/// The gauges that come to rest: all but memory and disk.
const COUNTED: [usize; 5] = [0, 1, 4, 5, 6];

type Reading = [u64; GAUGES.len()];

/// A process, and the folder in which it keeps files.
#[derive(Debug, Clone)]
pub struct Watched {
    /// The process. A test that watches its own process needs a separate process, as nextest gives
    /// it.
    pub pid: u32,
    /// The folder, with the temporary files.
    pub folder: PathBuf,
    /// Name prefixes for files that grow with the stored history, by design.
    pub history: &'static [&'static str],
    /// Memory, in KiB, that the process may gain beside the growth that counts as flat.
    pub memory_slack_kib: u64,
}

/// Drives a soak drill.
#[derive(Debug)]
pub struct Soak {
    watched: Watched,
    rounds: usize,
    units: usize,
    readings: Vec<Reading>,
}

impl Soak {
    /// Begins a drill. In the short form, each round has this number of units. The environment can
    /// set other numbers.
    ///
    /// # Panics
    /// A variable is no number.
    pub fn new(watched: Watched, units: usize, variable: impl Fn(&str) -> Option<String>) -> Self {
        let setting = |name: &str| {
            variable(name).map(|text| {
                text.parse()
                    .unwrap_or_else(|_| panic!("{name} must be a number"))
            })
        };
        let rounds = setting(ROUNDS_VARIABLE).unwrap_or(ROUNDS);
        Self {
            watched,
            rounds,
            units: setting(UNITS_VARIABLE).unwrap_or(units),
            readings: Vec::new(),
        }
    }

    /// Returns the number of rounds.
    pub const fn rounds(&self) -> usize {
        self.rounds
    }

    /// Returns the number of units in a round.
    pub const fn units(&self) -> usize {
        self.units
    }

    /// Waits until the counted gauges rest, and adds a reading.
    ///
    /// # Panics
    /// They do not come to rest.
    pub fn look(&mut self, rows: impl Fn() -> u64) {
        let (mut last, mut equal, mut looks) = (self.watched.read(rows()), 0, 0);
        while equal < EQUAL_LOOKS {
            looks += 1;
            assert!(looks <= LOOKS_MAX, "no rest after a round: {last:?}");
            thread::sleep(LOOK_INTERVAL);
            let next = self.watched.read(rows());
            equal = if COUNTED.iter().all(|&gauge| next[gauge] == last[gauge]) {
                equal + 1
            } else {
                0
            };
            last = next;
        }
        self.readings.push(last);
    }

    /// Prints the table and fails unless all gauges are flat.
    ///
    /// # Panics
    /// A gauge grew.
    pub fn finish(&self, name: &str) {
        eprintln!("{}", self.table(name));
        let grown: Vec<_> = grown(&self.readings, self.watched.memory_slack_kib)
            .into_iter()
            .map(|gauge| GAUGES[gauge].0)
            .collect();
        assert!(
            grown.is_empty(),
            "{name} is not flat: {grown:?} in {:?}",
            self.readings
        );
    }

    fn table(&self, name: &str) -> String {
        let (second, last) = (
            highest(second_fifth(&self.readings)),
            lowest(last_fifth(&self.readings)),
        );
        let mut table = format!(
            "{name}: {} rounds of {} units\n| gauge | second fifth | last fifth |\n|---|---|---|\n",
            self.readings.len(),
            self.units,
        );
        for (gauge, (label, _)) in GAUGES.iter().enumerate() {
            table.push_str(&format!(
                "| {label} | {} | {} |\n",
                second[gauge], last[gauge]
            ));
        }
        table
    }
}

impl Watched {
    fn read(&self, rows: u64) -> Reading {
        let proc = PathBuf::from(format!("/proc/{}", self.pid));
        let mut found = Found::default();
        found.add(&self.folder, self.history);
        let status = fs::read_to_string(proc.join("status")).expect("the process runs");
        [
            entries(&proc.join("fd")),
            field(&status, "Threads:"),
            field(&status, "VmRSS:"),
            found.blocks * BLOCK_BYTES / 1024,
            found.files,
            groups(Path::new(GROUPS), self.pid),
            rows,
        ]
    }
}

#[derive(Debug, Default)]
struct Found {
    files: u64,
    blocks: u64,
}

impl Found {
    /// Adds the files below a folder. A file that vanishes meanwhile counts as removed.
    fn add(&mut self, folder: &Path, history: &[&str]) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let Ok(about) = entry.metadata() else {
                continue;
            };
            if history
                .iter()
                .any(|start| name.as_encoded_bytes().starts_with(start.as_bytes()))
            {
                continue;
            }
            self.files += 1;
            self.blocks += about.blocks();
            if about.is_dir() {
                self.add(&entry.path(), history);
            }
        }
    }
}

fn entries(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder)
        .expect("only root sees the descriptors of a process that hides its memory");
    u64::try_from(entries.count()).unwrap()
}

fn field(status: &str, name: &str) -> u64 {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// Counts a bot's control groups by name: `ars-<namespace>-<process>-<start>-<number>`. Other
/// processes on the machine make groups meanwhile.
fn groups(folder: &Path, pid: u32) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let counted = folders.map(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_own = name.starts_with(GROUP) && name.split('-').nth(2) == Some(&pid.to_string());
        u64::from(is_own) + groups(&entry.path(), pid)
    });
    counted.sum()
}

fn second_fifth(readings: &[Reading]) -> &[Reading] {
    let fifth = readings.len() / 5;
    &readings[fifth..2 * fifth]
}

fn last_fifth(readings: &[Reading]) -> &[Reading] {
    &readings[readings.len() - readings.len() / 5..]
}

fn highest(readings: &[Reading]) -> Reading {
    let mut highest = Reading::default();
    for reading in readings {
        for (most, value) in highest.iter_mut().zip(reading) {
            *most = (*most).max(*value);
        }
    }
    highest
}

/// A leak stays in every later reading. What a step in the background holds for a moment is in some.
fn lowest(readings: &[Reading]) -> Reading {
    let mut lowest = [u64::MAX; GAUGES.len()];
    for reading in readings {
        for (least, value) in lowest.iter_mut().zip(reading) {
            *least = (*least).min(*value);
        }
    }
    lowest
}

/// Returns the gauges that grew.
fn grown(readings: &[Reading], memory_slack_kib: u64) -> Vec<usize> {
    assert!(readings.len() >= 5, "a drill needs five rounds");
    let (second, last) = (
        highest(second_fifth(readings)),
        lowest(last_fifth(readings)),
    );
    let is_grown = |gauge: &usize| {
        let slack = if *gauge == MEMORY {
            memory_slack_kib
        } else {
            GAUGES[*gauge].1
        };
        let most = second[*gauge] as f64 * (1.0 + GROWTH_MAX) + slack as f64;
        last[*gauge] as f64 > most
    };
    (0..GAUGES.len()).filter(is_grown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warm_up_is_flat_and_a_leak_is_not() {
        let warm = |round: u64| [20 + round.min(2), 5, 90_000, 50, 30, 0, 0];
        let flat: Vec<Reading> = (0..10).map(warm).collect();
        assert_eq!(grown(&flat, 0), Vec::<usize>::new());
        let leaking: Vec<Reading> = (0..10)
            .map(|round| [20 + round, 5 + round, 90_000, 50, 30, 0, round])
            .collect();
        assert_eq!(grown(&leaking, 0), [0, 1, 6]);
    }

    #[test]
    fn open_file_and_written_file_are_seen() {
        let folder = tempfile::tempdir().unwrap();
        let watched = Watched {
            pid: std::process::id(),
            folder: folder.path().to_owned(),
            history: &["history"],
            memory_slack_kib: 0,
        };
        let before = watched.read(0);
        let _file = fs::File::create(folder.path().join("one")).unwrap();
        fs::write(folder.path().join("history-wal"), "long").unwrap();
        let after = watched.read(0);
        assert_eq!((after[0], after[4]), (before[0] + 1, before[4] + 1));
    }

    #[test]
    fn only_groups_of_the_process_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "pids/ars-1-70-3-run",
            "memory/ars-1-70-3-run",
            "pids/ars-1-7-3-run",
            "pids/other-1-70",
        ] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        assert_eq!(groups(folder.path(), 70), 2);
    }
}
