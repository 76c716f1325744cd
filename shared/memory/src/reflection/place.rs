//! Assigns each finding to a scope.

use ars_types::{StoreKey, Visibility};
use ars_wire::memory::{Candidate, Kind, MemoryRecord, Taint};

use super::{Fact, Findings};
use crate::{Scope, Scopes, candidate};

/// Where findings come from.
#[derive(Debug, Clone, Copy)]
pub struct Origin<'a> {
    /// Scopes that the run may read and write.
    pub scopes: Scopes<'a>,
    /// The channel's visibility.
    pub visibility: Visibility,
    /// Key of the run's thread.
    pub thread_key: &'a str,
    /// Id of the run.
    pub run_id: &'a str,
    /// Untrusted sources that the run had read. With any, findings reach its user's memory only.
    pub taint: &'a [Taint],
}

/// Candidates for a single scope; never empty.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    /// The scope's store key.
    pub scope: StoreKey,
    /// Candidates in order of discovery.
    pub candidates: Vec<Candidate>,
}

/// Where a finding goes.
struct Place {
    scope: StoreKey,
    /// It was meant for a wider scope, which the origin does not permit.
    is_narrowed: bool,
}

/// Groups findings by scope and drops those without a scope; facts may replace the `shown` records.
pub fn place(findings: Findings, shown: &[MemoryRecord], origin: &Origin<'_>) -> Vec<Batch> {
    let mut batches: Vec<Batch> = Vec::new();
    let mut add = |scope: StoreKey, candidate: Candidate| match batches
        .iter_mut()
        .find(|batch| batch.scope == scope)
    {
        Some(batch) => batch.candidates.push(candidate),
        None => batches.push(Batch {
            scope,
            candidates: vec![candidate],
        }),
    };
    let mut narrowest = None;
    for mut fact in findings.facts {
        let replaced = shown
            .iter()
            .find(|record| Some(&record.id) == fact.supersedes.as_ref());
        let audience = replaced
            .and_then(|record| Scope::from_key(record.scope_key.as_str()))
            .unwrap_or(fact.audience);
        // The narrower among the fact's audience and destination.
        let of_fact = if width(audience) < width(fact.audience) {
            audience
        } else {
            fact.audience
        };
        narrowest = narrowest
            .filter(|known| width(*known) < width(of_fact))
            .or(Some(of_fact));
        let Some(Place { scope, is_narrowed }) = origin.place(audience) else {
            continue;
        };
        // A fact replaces only a record in the same scope.
        let may_replace = !is_narrowed
            && replaced
                .is_some_and(|record| record.scope_key == scope && origin.may_correct(record));
        fact.supersedes = fact.supersedes.filter(|_| may_replace);
        add(scope, origin.fact(fact));
    }
    // Without facts, the summary is visible to the user only.
    let audience = narrowest.unwrap_or(Scope::User);
    if let Some(summary) = findings.summary
        && let Some(Place { scope, .. }) = origin.place(audience)
    {
        add(scope, origin.candidate(Kind::Summary, summary));
    }
    batches
}

/// Orders scopes by audience size, the smallest first.
const fn width(scope: Scope) -> u8 {
    match scope {
        Scope::User => 0,
        Scope::Repo => 1,
        Scope::Channel => 2,
        Scope::Org => 3,
    }
}

impl Origin<'_> {
    /// A stranger's text must not replace what people stated.
    fn may_correct(&self, record: &MemoryRecord) -> bool {
        self.taint.is_empty() || !record.taint.is_empty()
    }

    fn place(&self, audience: Scope) -> Option<Place> {
        if !self.taint.is_empty() && audience != Scope::User {
            return self.narrowed(&[Scope::User]);
        }
        if audience != Scope::Org
            && let Ok(scope) = self.scopes.key(audience)
        {
            return Some(Place {
                scope,
                is_narrowed: false,
            });
        }
        match self.visibility {
            _ if !self.taint.is_empty() => None,
            Visibility::Public | Visibility::Machine => {
                self.scopes.key(Scope::Org).ok().map(|scope| Place {
                    scope,
                    is_narrowed: false,
                })
            }
            Visibility::Dm => self.narrowed(&[Scope::User]),
            Visibility::Private | Visibility::Unknown => {
                self.narrowed(&[Scope::Channel, Scope::User])
            }
        }
    }

    fn narrowed(&self, to: &[Scope]) -> Option<Place> {
        let scope = to.iter().find_map(|scope| self.scopes.key(*scope).ok())?;
        Some(Place {
            scope,
            is_narrowed: true,
        })
    }

    fn fact(&self, fact: Fact) -> Candidate {
        let Fact {
            text,
            confidence,
            keywords,
            supersedes,
            audience: _,
        } = fact;
        Candidate {
            confidence: Some(confidence),
            keywords,
            supersedes,
            ..self.candidate(Kind::Fact, text)
        }
    }

    fn candidate(&self, kind: Kind, text: String) -> Candidate {
        Candidate {
            kind,
            text,
            source_thread_key: self
                .thread_key
                .chars()
                .take(candidate::MAX_NAME_CHARS)
                .collect(),
            keywords: Vec::new(),
            source_run_id: Some(self.run_id.to_owned()),
            confidence: None,
            supersedes: None,
            taint: self.taint.to_vec(),
        }
    }
}

#[cfg(test)]
#[path = "place_tests.rs"]
mod tests;
