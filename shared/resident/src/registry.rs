//! The resident registry: records, the cap, evicting the coldest, overrides for tests.

use std::collections::BTreeMap;

use ars_types::{StrictRefName, UnixMillis};
use serde::{Deserialize, Serialize};

use crate::lifecycle::{Config, StateWord, TreesState};
use crate::names::{CommandName, Resource, TableCommand};
use crate::refusal::{Refusal, Token};
use crate::thread::EVICTION_IDLE_MIN_MS;

/// Maximum number of residents in a registry.
pub const RESIDENTS_MAX: u32 = 6;
/// Name of the command that installs dependencies.
const INSTALL: &str = "install";
/// Time after an attach in which a test may not lower the stale refresh threshold further.
pub const STALE_FLOOR_MAX_S: u32 = 3_600;

/// How a command in the table takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CommandEffect {
    /// It changes nothing outside its tree.
    Readonly,
    /// It changes something else, so `/op` does not run it.
    Mutating,
}

/// A registry record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// The resident's resource id.
    pub resource: Resource,
    /// Commands by their name.
    pub commands: BTreeMap<CommandName, TableCommand>,
    /// Command effects. A command without an entry is read-only.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub effects: BTreeMap<CommandName, CommandEffect>,
    /// Name of the default branch.
    pub default_ref: StrictRefName,
    /// Budget on the disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_budget_mb: Option<u64>,
    /// Provisioning budget in milliseconds.
    pub provisioning_timeout_ms: i64,
    /// Days after which an unused tree is evicted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree_ttl_days: Option<u32>,
    /// When it was first written.
    pub onboarded_at: UnixMillis,
    /// When it was last written.
    pub updated_at: UnixMillis,
}

impl Record {
    /// Returns the lifecycle settings.
    pub fn config(&self) -> Config {
        Config {
            default_ref: self.default_ref.clone(),
            provisioning_timeout_ms: self.provisioning_timeout_ms,
            has_install: self.commands.keys().any(|name| name.as_str() == INSTALL),
        }
    }

    /// Returns a command from the table.
    pub fn command(&self, name: &str) -> Option<&TableCommand> {
        self.commands
            .iter()
            .find(|(key, _)| key.as_str() == name)
            .map(|(_, command)| command)
    }

    /// Returns whether a command may run without an agent run.
    pub fn is_readonly(&self, name: &str) -> bool {
        self.effects
            .iter()
            .find(|(key, _)| key.as_str() == name)
            .is_none_or(|(_, effect)| *effect == CommandEffect::Readonly)
    }
}

/// Decides about an insertion. The registry inserts in the same write.
pub fn check_insert(resource: &Resource, rows: &[Resource], cap: u32) -> Result<(), Refusal> {
    if rows.contains(resource) {
        return Err(Refusal::new(
            Token::AlreadyOnboarded,
            &format!("{resource} has a resident already"),
        ));
    }
    let count = u32::try_from(rows.len()).unwrap_or(u32::MAX);
    if count >= cap {
        let detail = format!("{count}/{cap} residents; offboard one, or repeat with evictColdest");
        return Err(Refusal::new(Token::OverCap, &detail));
    }
    Ok(())
}

/// A resident that may make room for a new resident.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The resident's resource id.
    pub resource: Resource,
    /// When it was last used.
    pub last_activity_at: UnixMillis,
    /// The resident's state word.
    pub state: StateWord,
    /// Operations in flight. `None` if the object did not answer.
    pub in_flight: Option<u32>,
    /// Unsaved work in threads' trees.
    pub trees: TreesState,
}

/// A resident that stays, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejected {
    /// The resident's resource id.
    pub resource: Resource,
    /// Why the resident stays.
    pub why: String,
}

/// Selects the coldest resident to evict, or returns why each resident stays.
pub fn select_coldest(
    candidates: &[Candidate],
    now: UnixMillis,
) -> Result<&Candidate, Vec<Rejected>> {
    let mut rejected = Vec::new();
    let mut coldest: Option<&Candidate> = None;
    for candidate in candidates {
        let why = match (candidate.in_flight, candidate.state, candidate.trees) {
            (None, ..) => Some("unknown"),
            (Some(1..), ..) => Some("busy"),
            (_, StateWord::Onboarding | StateWord::Refreshing | StateWord::Restoring, _) => {
                Some("mid-flight")
            }
            (_, _, TreesState::Dirty | TreesState::Unknown) => Some("unsaved work"),
            _ if now - candidate.last_activity_at < EVICTION_IDLE_MIN_MS => Some("recent"),
            _ => None,
        };
        match why {
            Some(why) => {
                rejected.push(Rejected {
                    resource: candidate.resource.clone(),
                    why: why.to_owned(),
                });
            }
            None if coldest
                .is_none_or(|other| candidate.last_activity_at < other.last_activity_at) =>
            {
                coldest = Some(candidate);
            }
            None => {}
        }
    }
    coldest.ok_or(rejected)
}

/// Sums the operations in flight over all residents, or returns `None` as soon as any is unknown.
pub fn sum_in_flight(counts: impl IntoIterator<Item = Option<u32>>) -> Option<u32> {
    counts
        .into_iter()
        .try_fold(0_u32, |sum, count| Some(sum.saturating_add(count?)))
}

/// Limit overrides for tests. They expire with the build that set them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TestOverrides {
    /// Maximum number of residents.
    pub cap: Option<u32>,
    /// Age from which a refresh counts as stale.
    pub floor_s: Option<u32>,
    /// The build that set them.
    pub build: String,
}

impl TestOverrides {
    /// Makes overrides. They may only lower a limit.
    pub fn new(cap: Option<u32>, floor_s: Option<u32>, build: &str) -> Result<Self, Refusal> {
        if cap.is_some_and(|cap| !(1..=RESIDENTS_MAX).contains(&cap)) {
            let detail = format!("cap must be 1 to {RESIDENTS_MAX}");
            return Err(Refusal::new(Token::Invalid, &detail));
        }
        if floor_s.is_some_and(|floor| floor > STALE_FLOOR_MAX_S) {
            return Err(Refusal::new(
                Token::Invalid,
                &format!("floorS must be 0 to {STALE_FLOOR_MAX_S}"),
            ));
        }
        Ok(Self {
            cap,
            floor_s,
            build: build.to_owned(),
        })
    }

    /// Returns the cap in force for a build.
    pub fn cap_for(&self, build: &str) -> u32 {
        self.cap
            .filter(|_| self.build == build)
            .unwrap_or(RESIDENTS_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(number: usize) -> Resource {
        Resource::parse(format!("repo:acme/app{number}")).unwrap()
    }

    fn candidate(number: usize, last_activity_at: UnixMillis) -> Candidate {
        Candidate {
            resource: resource(number),
            last_activity_at,
            state: StateWord::Warm,
            in_flight: Some(0),
            trees: TreesState::Clean,
        }
    }

    #[test]
    fn seventh_resident_is_over_the_cap() {
        let rows: Vec<Resource> = (0..6).map(resource).collect();
        assert!(check_insert(&resource(6), &rows[..5], RESIDENTS_MAX).is_ok());
        let full = check_insert(&resource(6), &rows, RESIDENTS_MAX).unwrap_err();
        assert_eq!(full.status(), 429);
        assert!(full.error().contains("6/6") && full.error().contains("evictColdest"));
        assert_eq!(
            check_insert(&resource(0), &rows, RESIDENTS_MAX)
                .unwrap_err()
                .status(),
            409
        );
    }

    #[test]
    fn coldest_resident_without_work_is_evicted() {
        let now = EVICTION_IDLE_MIN_MS;
        let rows = [
            Candidate {
                in_flight: None,
                ..candidate(0, -9)
            },
            Candidate {
                in_flight: Some(1),
                ..candidate(1, -9)
            },
            Candidate {
                state: StateWord::Restoring,
                ..candidate(2, -9)
            },
            Candidate {
                trees: TreesState::Unknown,
                ..candidate(3, -9)
            },
            candidate(4, 1),
            candidate(5, 0),
            candidate(6, -1),
        ];
        assert_eq!(select_coldest(&rows, now).unwrap().resource, resource(6));
        let why: Vec<String> = select_coldest(&rows[..5], now)
            .unwrap_err()
            .into_iter()
            .map(|row| row.why)
            .collect();
        assert_eq!(
            why,
            ["unknown", "busy", "mid-flight", "unsaved work", "recent"]
        );
    }

    #[test]
    fn unknown_count_makes_the_sum_unknown() {
        assert_eq!(sum_in_flight([Some(1), Some(2)]), Some(3));
        assert_eq!(sum_in_flight([Some(1), None]), None);
        assert_eq!(sum_in_flight([]), Some(0));
    }

    #[test]
    fn overrides_only_lower_and_expire() {
        assert!(
            TestOverrides::new(Some(7), None, "a").is_err()
                && TestOverrides::new(Some(0), None, "a").is_err()
        );
        assert!(TestOverrides::new(None, Some(3_601), "a").is_err());
        let overrides = TestOverrides::new(Some(1), None, "a").unwrap();
        assert_eq!(
            (overrides.cap_for("a"), overrides.cap_for("b")),
            (1, RESIDENTS_MAX)
        );
    }
}
