//! Sums per category.

use crate::{
    diagnosis::{Category, Finding, Totals},
    intervals::{Interval, merge},
};

/// Sums the findings in tool-type categories and slow turns, and joins the intervals of others.
pub(crate) fn totals(findings: &[Finding]) -> Totals {
    let mut totals = Totals::default();
    for category in Category::ALL {
        let own = findings
            .iter()
            .filter(|finding| finding.category == category);
        let total = totals.of_mut(category);
        total.count = own.clone().count() as u64;
        total.duration_ms = if category.is_tool_type() || category == Category::SlowModelTurn {
            sum(own.filter_map(|finding| finding.duration_ms))
        } else {
            sum(merge(own.filter_map(|finding| finding.interval).collect())
                .into_iter()
                .map(Interval::ms))
        };
    }
    totals
}

/// Returns the saturating sum.
pub(crate) fn sum(numbers: impl Iterator<Item = i64>) -> i64 {
    numbers.fold(0, i64::saturating_add)
}
