//! The table.

use std::time::Duration;

/// A measured run with some number of turns.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// CPU a turn, the tools' processes included.
    pub cpu: Duration,
    /// CPU per turn, for the bot alone.
    pub own_cpu: Duration,
    /// Time per turn, from the first model call to the last.
    pub wall: Duration,
    /// Most memory held, in kB.
    pub peak_kb: u64,
    /// Requests to the state Worker, from the claim to the record.
    pub state_requests: u64,
    /// From when `ars serve` starts until it listens.
    pub start: Duration,
    /// From the request to the first model call, in a new thread: a clone is part of it.
    pub first_call: Duration,
    /// The same on a thread that has a working tree already.
    pub next_call: Duration,
}

/// A column: the head, and what it shows for a line's samples.
type Column = (&'static str, fn(&[Sample]) -> String);

const COLUMNS: [Column; 8] = [
    ("CPU/turn", |samples| time(samples, |sample| sample.cpu)),
    ("own CPU/turn", |samples| {
        time(samples, |sample| sample.own_cpu)
    }),
    ("wall/turn", |samples| time(samples, |sample| sample.wall)),
    ("peak RSS", |samples| {
        format!(
            "{:.1} MB",
            field_median(samples, |sample| sample.peak_kb) as f64 / 1024.0
        )
    }),
    ("state requests", |samples| {
        field_median(samples, |sample| sample.state_requests).to_string()
    }),
    ("start", |samples| time(samples, |sample| sample.start)),
    ("request to model, new thread", |samples| {
        time(samples, |sample| sample.first_call)
    }),
    ("again", |samples| time(samples, |sample| sample.next_call)),
];

/// Returns the medians, a line for each number of turns.
pub fn table(rows: &[(u32, Vec<Sample>)]) -> String {
    let mut text = "turns".to_owned();
    for (head, _) in COLUMNS {
        text += &format!("  {head:>11}");
    }
    for (turns, samples) in rows {
        text += &format!("\n{turns:>5}");
        for (head, show) in COLUMNS {
            text += &format!("  {:>width$}", show(samples), width = head.len().max(11));
        }
    }
    text + "\n"
}

fn field_median<T: Ord + Copy + Default>(samples: &[Sample], field: fn(&Sample) -> T) -> T {
    median(samples.iter().map(field).collect())
}

fn time(samples: &[Sample], field: fn(&Sample) -> Duration) -> String {
    ms(field_median(samples, field))
}

fn ms(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1000.0)
}

/// Returns the middle value.
pub fn median<T: Ord + Copy + Default>(mut values: Vec<T>) -> T {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_stand_in_columns() {
        let sample = |n: u64| {
            let time = Duration::from_micros(1000 * n);
            Sample {
                cpu: time,
                own_cpu: time,
                wall: time,
                peak_kb: 1024 * n,
                state_requests: n,
                start: time,
                first_call: time,
                next_call: time,
            }
        };
        let table = table(&[(50, vec![sample(9), sample(2), sample(3)])]);
        let lines: Vec<_> = table.lines().collect();
        let last: Vec<_> = lines[1]
            .split("  ")
            .map(str::trim)
            .filter(|cell| !cell.is_empty())
            .collect();
        assert_eq!((last[0], last[1], last[4]), ("50", "3.00 ms", "3.0 MB"));
        assert_eq!(lines[0].len(), lines[1].len());
    }
}
