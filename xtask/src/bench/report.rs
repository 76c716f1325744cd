//! The table.

use std::time::Duration;

/// One measurement of a run with some number of turns.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// CPU a turn, the tools' processes included.
    pub cpu: Duration,
    /// CPU a turn of the bot alone.
    pub own_cpu: Duration,
    /// Time a turn, from the first call of the model to the last.
    pub wall: Duration,
    /// Most memory held, in kB.
    pub peak_kb: u64,
    /// Requests to the state Worker, from the claim to the record.
    pub state_requests: u64,
    /// From the start of `ars serve` until it listens.
    pub start: Duration,
    /// From the request to the first call of the model, in a new thread: a clone is part of it.
    pub first_call: Duration,
    /// The same on a thread that has its working tree already.
    pub next_call: Duration,
}

const HEAD: [&str; 9] = [
    "turns",
    "CPU/turn",
    "own CPU/turn",
    "wall/turn",
    "peak RSS",
    "state requests",
    "start",
    "request to model, new thread",
    "again",
];

/// The medians, a line for each number of turns.
pub fn table(rows: &[(u32, Vec<Sample>)]) -> String {
    let mut lines = vec![HEAD.map(str::to_owned).to_vec()];
    lines.extend(rows.iter().map(|(turns, samples)| {
        let time = |field: fn(&Sample) -> Duration| ms(median(samples.iter().map(field).collect()));
        let requests = median(samples.iter().map(|sample| sample.state_requests).collect());
        let peak = median(samples.iter().map(|sample| sample.peak_kb).collect());
        vec![
            turns.to_string(),
            time(|sample| sample.cpu),
            time(|sample| sample.own_cpu),
            time(|sample| sample.wall),
            format!("{:.1} MB", peak as f64 / 1024.0),
            requests.to_string(),
            time(|sample| sample.start),
            time(|sample| sample.first_call),
            time(|sample| sample.next_call),
        ]
    }));
    let widths: Vec<usize> = (0..HEAD.len())
        .map(|column| lines.iter().map(|line| line[column].len()).max().unwrap_or(0))
        .collect();
    let line = |cells: &Vec<String>| {
        let cells = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    lines.iter().map(line).collect()
}

fn ms(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1000.0)
}

/// The middle one.
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
        let last: Vec<_> =
            table.lines().last().unwrap().split("  ").filter(|cell| !cell.is_empty()).collect();
        assert_eq!(last[0].trim(), "50");
        assert_eq!(last[4].trim(), "3.0 MB");
        assert!(
            last[1].trim() == "3.00 ms"
                && table.lines().all(|line| line.len() == table.lines().next().unwrap().len())
        );
    }
}
