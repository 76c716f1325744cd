//! What a batch of candidates comes to, decided before anything is written (state-worker supplement section 2.5).
//!
//! Pure: what the store knows goes in, what it has to write comes out. Later candidates see what earlier ones did. Not
//! here: eviction, which is about the whole scope (`write`).

use std::collections::BTreeSet;

use serde::Serialize;

use crate::candidate::{Candidate, Record};

/// What the store has that a batch may touch. All of it is active.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The next number.
    pub(super) next: i64,
    /// How many records there are.
    pub(super) active: i64,
    /// Of the text in this place, a record that says the same.
    pub(super) equal: Vec<(usize, i64)>,
    /// Records that candidates name in `supersedes`.
    pub(super) named: Vec<i64>,
}

/// What to write, and what to answer.
#[derive(Debug, Default)]
pub(super) struct Plan<'a> {
    /// New rows, in order.
    pub(super) born: Vec<Born<'a>>,
    /// Known records that were said again, once for each time.
    pub(super) restated: Vec<i64>,
    /// Known records that something takes the place of.
    pub(super) replaced: Vec<i64>,
    /// Candidates that became a record.
    pub(super) inserted: i64,
    /// Candidates that a record said already.
    pub(super) deduped: i64,
    /// Records that something took the place of.
    pub(super) superseded: i64,
}

/// A new row.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Born<'a> {
    pub(super) n: i64,
    pub(super) use_count: i64,
    pub(super) record: &'a Record<'a>,
    /// What only an active row has; `None` for one that a later candidate took the place of.
    pub(super) normalized: Option<&'a str>,
    pub(super) tokens: Option<String>,
}

/// A candidate, with its text's place among the distinct texts of the batch and the number it names.
#[derive(Debug)]
pub(super) struct Item<'a> {
    pub(super) candidate: &'a Candidate<'a>,
    pub(super) text: usize,
    /// `None` when it names nothing.
    pub(super) target: Option<Target>,
}

/// What a candidate names in `supersedes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// A number of this scope, given or not.
    Here(i64),
    /// Anything else.
    Elsewhere,
}

/// Plans a batch.
pub(super) fn plan<'a>(items: &[Item<'a>], known: &Known) -> Plan<'a> {
    let mut planner = Planner::new(items, known);
    for item in items {
        planner.take(item);
    }
    planner.plan
}

struct Planner<'a> {
    first: i64,
    /// Of each distinct text, the active records that say it.
    equal: Vec<BTreeSet<i64>>,
    /// Active records that were named, and new ones.
    active: BTreeSet<i64>,
    plan: Plan<'a>,
}

impl<'a> Planner<'a> {
    fn new(items: &[Item<'a>], known: &Known) -> Self {
        let texts = items.iter().map(|item| item.text + 1).max().unwrap_or_default();
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

    /// The new row of a number.
    fn born(&mut self, n: i64) -> Option<&mut Born<'a>> {
        let place = n.checked_sub(self.first).and_then(|place| usize::try_from(place).ok())?;
        self.plan.born.get_mut(place)
    }
}

impl Plan<'_> {
    /// Active records there are once it is written.
    pub(super) fn active_after(&self, known: &Known) -> i64 {
        known.active + self.inserted - self.superseded
    }
}
