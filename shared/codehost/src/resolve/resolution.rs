//! Chooses the request's repository from signals in the text.
//!
//! Strong signals may replace the thread's repository. Weak signals never do, because prose has
//! many words with a slash.

use std::collections::BTreeSet;

use ars_types::RepoSlug;

use super::signals::{Item, ItemKind, Signal, Strength};

/// Whether a repository is among those that the service knows, by configuration or as a resident.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// The service knows the repository.
    Known,
    /// It is not known.
    Unknown,
    /// The list cannot be read, so an unlisted repository may be known.
    Unavailable,
}

/// The repository for a request. The requester's gate checks each of [`Resolution::repositories`]
/// before any call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// The text names none, and the thread has none.
    None,
    /// The thread's own repository.
    Thread {
        /// The repository of the request.
        repository: RepoSlug,
    },
    /// The repository that the text names.
    Named {
        /// The repository of the request.
        repository: RepoSlug,
        /// The items that the text names in it, ordered by number.
        items: Vec<Item>,
    },
    /// The text names several, so the requester has to choose.
    Ambiguous {
        /// The repositories to choose from.
        repositories: Vec<RepoSlug>,
    },
    /// The list of known repositories cannot be read, so it is open whether this repository is
    /// meant.
    Undetermined {
        /// The repository of the request.
        repository: RepoSlug,
    },
}

impl Resolution {
    /// Returns the repositories with a gate that precedes every call.
    pub fn repositories(&self) -> &[RepoSlug] {
        match self {
            Self::None => &[],
            Self::Thread { repository }
            | Self::Named { repository, .. }
            | Self::Undetermined { repository } => std::slice::from_ref(repository),
            Self::Ambiguous { repositories } => repositories,
        }
    }

    /// Returns the numbers of named items that may be pull requests, in order.
    pub fn pull_requests(&self) -> Vec<u64> {
        let Self::Named { items, .. } = self else {
            return Vec::new();
        };
        let may_be = items.iter().filter(|item| item.kind != ItemKind::Issue);
        let numbers: BTreeSet<u64> = may_be.map(|item| item.number).collect();
        numbers.into_iter().collect()
    }
}

/// Chooses the repository.
/// `own` is the thread's, and `listing` asks for a repository that the text names.
pub fn resolve(
    signals: &[Signal],
    own: Option<&RepoSlug>,
    listing: impl Fn(&RepoSlug) -> Listing,
) -> Resolution {
    let mut strong: BTreeSet<&RepoSlug> = BTreeSet::new();
    let mut unsure = None;
    for signal in signals {
        match (signal.strength, own) {
            (Strength::Strong, _) => {
                strong.insert(&signal.repository);
            }
            (Strength::Vettable, _) => match listing(&signal.repository) {
                Listing::Known => {
                    strong.insert(&signal.repository);
                }
                Listing::Unavailable => unsure = unsure.or(Some(&signal.repository)),
                Listing::Unknown => {}
            },
            (Strength::Weak, _) => {}
        }
    }
    if let Some(resolution) = chosen(&strong, signals) {
        return resolution;
    }
    if let Some(repository) = unsure.filter(|unsure| own != Some(*unsure)) {
        return Resolution::Undetermined {
            repository: repository.clone(),
        };
    }
    if let Some(repository) = own {
        return Resolution::Thread {
            repository: repository.clone(),
        };
    }
    // Without a thread repository, a weak signal binds nothing that is not known.
    let weak = signals
        .iter()
        .filter(|signal| signal.strength == Strength::Weak)
        .map(|signal| &signal.repository);
    let known: BTreeSet<&RepoSlug> = weak
        .filter(|slug| listing(slug) == Listing::Known)
        .collect();
    chosen(&known, signals).unwrap_or(Resolution::None)
}

fn chosen(repositories: &BTreeSet<&RepoSlug>, signals: &[Signal]) -> Option<Resolution> {
    let first = *repositories.first()?;
    if repositories.len() > 1 {
        return Some(Resolution::Ambiguous {
            repositories: repositories.iter().copied().cloned().collect(),
        });
    }
    let named = signals.iter().filter(|signal| signal.repository == *first);
    let items: BTreeSet<Item> = named.filter_map(|signal| signal.item).collect();
    Some(Resolution::Named {
        repository: first.clone(),
        items: items.into_iter().collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{host::Host, resolve::signals};

    /// The repositories `acme/app` and `acme/site` are known.
    fn resolved(text: &str, own: Option<&str>) -> String {
        let own = own.map(|own| RepoSlug::parse(own).unwrap());
        let listing = |slug: &RepoSlug| match slug.as_str() {
            "acme/app" | "acme/site" => Listing::Known,
            _ => Listing::Unknown,
        };
        shown(&resolve(
            &signals(text, &Host::default()),
            own.as_ref(),
            listing,
        ))
    }

    fn shown(resolution: &Resolution) -> String {
        let names = resolution
            .repositories()
            .iter()
            .map(RepoSlug::as_str)
            .collect::<Vec<_>>()
            .join(" ");
        match resolution {
            Resolution::None => "none".to_owned(),
            Resolution::Thread { .. } => format!("thread {names}"),
            Resolution::Named { items, .. } => {
                let items: String = items
                    .iter()
                    .map(|item| format!(" #{}", item.number))
                    .collect();
                format!("named {names}{items}")
            }
            Resolution::Ambiguous { .. } => format!("ambiguous {names}"),
            Resolution::Undetermined { .. } => format!("undetermined {names}"),
        }
    }

    #[test]
    fn only_strong_signals_replace_the_threads_repository() {
        for (text, expected) in [
            ("fix acme/app", "thread acme/lib"),
            ("fix it in acme/app", "named acme/app"),
            ("fix it in acme/other", "thread acme/lib"),
            ("fix acme/other#3", "named acme/other #3"),
            ("https://github.com/acme/other", "named acme/other"),
            ("`acme/app#1` and `in acme/app`", "thread acme/lib"),
            (
                "acme/app#1 like acme/site#2",
                "ambiguous acme/app acme/site",
            ),
            ("acme/app#1 as in and/or acme/site", "named acme/app #1"),
        ] {
            assert_eq!(resolved(text, Some("acme/lib")), expected, "{text}");
        }
    }

    #[test]
    fn weak_signal_needs_a_known_repository() {
        for (text, expected) in [
            ("fix acme/app", "named acme/app"),
            ("fix src/main and acme/other", "none"),
            ("acme/app or acme/site", "ambiguous acme/app acme/site"),
            ("hello", "none"),
        ] {
            assert_eq!(resolved(text, None), expected, "{text}");
        }
    }

    #[test]
    fn unavailable_list_is_not_an_unknown_repository() {
        let own = RepoSlug::parse("acme/lib").unwrap();
        for (text, expected) in [
            ("in acme/app", "undetermined acme/app"),
            ("acme/app", "thread acme/lib"),
            ("in acme/lib", "thread acme/lib"),
            ("in acme/app acme/app#2", "named acme/app #2"),
        ] {
            let found = resolve(&signals(text, &Host::default()), Some(&own), |_| {
                Listing::Unavailable
            });
            assert_eq!(shown(&found), expected, "{text}");
        }
    }

    #[test]
    fn named_pull_requests_are_the_targets() {
        for (text, expected) in [
            ("acme/app#1", &[1][..]),
            (
                "https://github.com/acme/app/pull/1 that is acme/app#1",
                &[1],
            ),
            (
                "https://github.com/acme/app/pull/1 for https://github.com/acme/app/issues/2",
                &[1],
            ),
            ("https://github.com/acme/app/issues/2", &[]),
            ("acme/app#2 acme/app#1", &[1, 2]),
            ("`acme/app#2` acme/app#1", &[1]),
        ] {
            let found = resolve(&signals(text, &Host::default()), None, |_| Listing::Unknown);
            assert_eq!(found.pull_requests(), expected, "{text}");
        }
    }
}
