//! A command's cost under each sandbox kind, beside none.

use std::time::Duration;

use anyhow::Result;

use super::Size;
use crate::bench::aims::{SANDBOX_CPU, SANDBOX_WALL, Verdicts};
use crate::bench::bot::Programs;
use crate::bench::report::Sample;
use crate::bench::turns;
use crate::terminal::Step;

/// The kinds by configuration. The first is the baseline.
const KINDS: [(&str, &str); 3] = [
    ("without", "kind = \"none\"\nnetwork = \"open\""),
    ("landlock", "kind = \"landlock\""),
    ("bubblewrap", "kind = \"bubblewrap\""),
];

/// Measures and prints each sandbox kind.
pub fn run(programs: &Programs, size: Size, verdicts: &mut Verdicts) -> Result<()> {
    println!("\nA turn with the command `true`, {} turns:", size.commands);
    let mut baseline = None;
    for (name, sandbox) in KINDS {
        let step = Step::begin(&format!("sandbox: {name}"));
        let measured = turns::measure(&programs.with_sandbox(sandbox), size.commands);
        step.done("");
        match measured {
            Ok(sample) => {
                println!("  {name:<10} {}", line(&sample, baseline.as_ref()));
                match &baseline {
                    Some(without) => hold(name, &sample, without, verdicts),
                    None if name == KINDS[0].0 => baseline = Some(sample),
                    None => {}
                }
            }
            // The kind is missing on this machine.
            Err(error) => println!("  {name:<10} not measured: {error:#}"),
        }
    }
    Ok(())
}

fn hold(name: &str, sample: &Sample, without: &Sample, verdicts: &mut Verdicts) {
    let at = format!(" of {name}");
    println!(
        "{}",
        verdicts.hold(SANDBOX_WALL, &at, over(sample.wall, without.wall))
    );
    println!(
        "{}",
        verdicts.hold(SANDBOX_CPU, &at, over(sample.cpu, without.cpu))
    );
}

fn line(sample: &Sample, without: Option<&Sample>) -> String {
    let figures = format!("{:.2} ms, CPU {:.2} ms", ms(sample.wall), ms(sample.cpu));
    let Some(without) = without else {
        return figures;
    };
    let (wall, cpu) = (
        over(sample.wall, without.wall),
        over(sample.cpu, without.cpu),
    );
    format!("{figures}; the sandbox {wall:+.2} ms, CPU {cpu:+.2} ms")
}

fn over(figure: Duration, baseline: Duration) -> f64 {
    ms(figure) - ms(baseline)
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
