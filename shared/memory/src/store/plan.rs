//! Plans how a candidate batch takes effect before it is written.
//!
//! See docs/reference/memory.md#writing. Pure: the known rows go in, the writes come out. Later
//! candidates see the effect of earlier ones. Not here: eviction, which concerns the whole scope
//! (`write`).

use std::collections::BTreeSet;

use serde::Serialize;

use crate::candidate::{Candidate, Record};

/// Active records that a batch may touch.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The next free number.
    pub(super) next: i64,
    /// Number of active records.
    pub(super) active: i64,
    /// Index of a text and the number of a record with an equal text.
    pub(super) equal: Vec<(usize, i64)>,
    /// Numbers of the records that candidates name in `supersedes`.
    pub(super) named: Vec<i64>,
}

/// A batch's writes and the counts in the response.
#[derive(Debug, Default)]
pub(super) struct Plan<'a> {
    /// New rows, in order.
    pub(super) born: Vec<Born<'a>>,
    /// Known records that were restated, once per restatement.
    pub(super) restated: Vec<i64>,
    /// Known records that were superseded.
    pub(super) replaced: Vec<i64>,
    /// Number of candidates that became a record.
    pub(super) inserted: i64,
    /// Number of candidates that equal an existing record.
    pub(super) deduped: i64,
    /// Number of superseded records.
    pub(super) superseded: i64,
}

/// A row to insert.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Born<'a> {
    pub(super) n: i64,
    pub(super) use_count: i64,
    pub(super) record: &'a Record<'a>,
    /// An active row's normalized text; `None` if a later candidate superseded it.
    pub(super) normalized: Option<&'a str>,
    pub(super) tokens: Option<String>,
}

/// A candidate with the text's index among the batch's distinct texts, and the number it names.
#[derive(Debug)]
pub(super) struct Item<'a> {
    pub(super) candidate: &'a Candidate<'a>,
    pub(super) text: usize,
    /// `None` if it supersedes no record.
    pub(super) target: Option<Target>,
}

/// The target that `supersedes` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// A number in this scope, used or not.
    Here(i64),
    /// Any other target.
    Elsewhere,
}

/// Plans a whole batch.
pub(super) fn plan<'a>(items: &[Item<'a>], known: &Known) -> Plan<'a> {
    let mut planner = Planner::new(items, known);
    for item in items {
        planner.take(item);
    }
    planner.plan
}

struct Planner<'a> {
    first: i64,
    /// Active records with an equal text, per distinct text.
    equal: Vec<BTreeSet<i64>>,
    /// Active records that candidates name, and new records.
    active: BTreeSet<i64>,
    plan: Plan<'a>,
}

impl<'a> Planner<'a> {
    fn new(items: &[Item<'a>], known: &Known) -> Self {
        let texts = items
            .iter()
            .map(|item| item.text + 1)
            .max()
            .unwrap_or_default();
        let mut equal = vec![BTreeSet::new(); texts];
        for &(text, n) in &known.equal {
            if let Some(equal) = equal.get_mut(text) {
                equal.insert(n);
            }
        }
        Self {
            first: known.next,
            equal,
            active: known.named.iter().copied().collect(),
            plan: Plan::default(),
        }
    }

    fn take(&mut self, item: &Item<'a>) {
        let says_it = self.equal.get(item.text);
        match item.target {
            None => match says_it.and_then(|says_it| says_it.first().copied()) {
                Some(oldest) => self.restate(oldest),
                None => self.insert(item),
            },
            Some(Target::Here(n)) if self.active.contains(&n) => {
                if says_it.is_some_and(|says_it| says_it.contains(&n)) {
                    self.restate(n);
                } else {
                    self.replace(n);
                    self.insert(item);
                }
            }
            Some(Target::Here(_) | Target::Elsewhere) => self.insert(item),
        }
    }

    fn restate(&mut self, n: i64) {
        self.plan.deduped += 1;
        match self.born(n) {
            Some(born) => born.use_count += 1,
            None => self.plan.restated.push(n),
        }
    }

    fn replace(&mut self, n: i64) {
        self.plan.superseded += 1;
        self.active.remove(&n);
        for equal in &mut self.equal {
            equal.remove(&n);
        }
        match self.born(n) {
            Some(born) => (born.normalized, born.tokens) = (None, None),
            None => self.plan.replaced.push(n),
        }
    }

    fn insert(&mut self, item: &Item<'a>) {
        let n = self.first + self.plan.inserted;
        self.plan.inserted += 1;
        self.active.insert(n);
        if let Some(equal) = self.equal.get_mut(item.text) {
            equal.insert(n);
        }
        let candidate = item.candidate;
        self.plan.born.push(Born {
            n,
            use_count: 0,
            record: &candidate.record,
            normalized: Some(&candidate.normalized),
            tokens: Some(candidate.tokens()),
        });
    }

    /// Returns the new row with a number.
    fn born(&mut self, n: i64) -> Option<&mut Born<'a>> {
        let place = n
            .checked_sub(self.first)
            .and_then(|place| usize::try_from(place).ok())?;
        self.plan.born.get_mut(place)
    }
}

impl Plan<'_> {
    /// Returns the number of active records after the write.
    pub(super) fn active_after(&self, known: &Known) -> i64 {
        known.active + self.inserted - self.superseded
    }
}
