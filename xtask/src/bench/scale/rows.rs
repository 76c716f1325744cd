//! Runs the requested measurements.

use anyhow::Result;

use super::{Row, Size, idle, many, sandbox, soak, watched};
use crate::bench::aims::Verdicts;
use crate::bench::bot::Programs;

/// Takes a single measurement and prints it.
type Measure = fn(&Programs, Size, &mut Verdicts) -> Result<()>;

/// Runs and prints the requested measurements.
pub fn run(
    programs: &Programs,
    size: Size,
    verdicts: &mut Verdicts,
    wants: impl Fn(Row) -> bool,
) -> Result<()> {
    let rows: [(Row, Measure); 5] = [
        (Row::Sandbox, sandbox::run),
        (Row::Idle, idle::run),
        (Row::Many, many::run),
        (Row::Viewers, watched::run),
        (Row::Soak, soak::run),
    ];
    let mut wanted = rows.iter().filter(|(row, _)| wants(*row));
    wanted.try_for_each(|(_, measure)| measure(programs, size, verdicts))
}
