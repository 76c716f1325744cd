//! Writes the one-line verdict.

use crate::diagnosis::{Category, Diagnosis};

/// Names the category with most time, then most findings, then by order, with count, time and share.
pub(crate) fn verdict(diagnosis: &Diagnosis) -> String {
    let totals = &diagnosis.by_category;
    let worst = Category::ALL.into_iter().rev().max_by_key(|category| {
        let total = totals.for_category(*category);
        (total.duration_ms, total.count)
    });
    let Some(worst) = worst.filter(|category| totals.for_category(*category).count > 0) else {
        return "no friction detected".into();
    };
    let total = totals.for_category(worst);
    let lead = format!("{} ({})", worst.words(), total.count);
    let (whole, of) = if worst.is_tool_type() {
        (diagnosis.tool_time_ms, "tool time")
    } else {
        (diagnosis.run_ms, "the run")
    };
    match whole {
        Some(whole) if whole > 0 && total.duration_ms > 0 => {
            let share = (total.duration_ms as f64 / whole as f64 * 100.0).round();
            format!("{lead}: {}, {share}% of {of}", duration(total.duration_ms))
        }
        _ => lead,
    }
}

/// Formats a duration: `800ms`, `1.3s`, `5m 04s`.
pub fn duration(ms: i64) -> String {
    match ms {
        ..1000 => format!("{ms}ms"),
        1000..60_000 => format!("{}.{}s", ms / 1000, ms % 1000 / 100),
        _ => format!("{}m {:02}s", ms / 60_000, ms / 1000 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn durations_are_formatted_for_people() {
        assert_eq!(
            [800, 1300, 59_999, 60_000, 304_000].map(duration),
            ["800ms", "1.3s", "59.9s", "1m 00s", "5m 04s"]
        );
    }
}
