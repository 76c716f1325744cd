//! The list part that the index shows, and links that change it. They work without a script.

use std::collections::BTreeSet;

use ars_bot_core::queries::{RunFilter, RunSummary};
use ars_wire::runs::Cursor;

/// Maximum filter values that the page offers.
const MAX_CHOICES: usize = 12;

/// A part of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Runs that are live.
    Active,
    /// Runs that have finished.
    Finished,
    /// Both live and finished runs.
    All,
}

/// The selected part and filters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listing {
    /// The list part shown.
    pub(crate) part: Part,
    /// The filters that apply.
    pub(crate) filter: RunFilter,
}

/// A link in a group with a single current link.
pub(super) struct Choice {
    pub(super) text: String,
    pub(super) href: String,
    pub(super) is_current: bool,
}

/// A filter: the set value, or the values that the page offers.
pub(super) struct Facet {
    pub(super) name: &'static str,
    pub(super) value: Option<String>,
    /// The list without this filter.
    pub(super) clear: String,
    pub(super) choices: Vec<Choice>,
}

impl Listing {
    /// Returns the parts as links.
    pub(super) fn parts(&self) -> Vec<Choice> {
        let parts = [
            (Part::Active, "Active"),
            (Part::Finished, "Finished"),
            (Part::All, "All"),
        ];
        let choice = |(part, text): (Part, &str)| Choice {
            text: text.to_owned(),
            href: Self {
                part,
                filter: self.filter.clone(),
            }
            .url(None),
            is_current: part == self.part,
        };
        parts.into_iter().map(choice).collect()
    }

    /// Returns the filters, with the values that these runs have.
    pub(super) fn facets(&self, runs: &[RunSummary]) -> Vec<Facet> {
        let values = |of: fn(&RunSummary) -> Option<&str>| {
            let values: BTreeSet<&str> = runs
                .iter()
                .filter_map(of)
                .filter(|value| !value.is_empty())
                .collect();
            values
                .into_iter()
                .take(MAX_CHOICES)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let facets: [(&'static str, Vec<String>, Field); 4] = [
            ("Agent", values(|run| run.agent.as_deref()), |filter| {
                &mut filter.agent
            }),
            ("Repository", values(|run| run.repo.as_deref()), |filter| {
                &mut filter.repo
            }),
            ("Channel", values(|run| Some(&run.channel_id)), |filter| {
                &mut filter.channel
            }),
            ("User", values(|run| Some(&run.user_id)), |filter| {
                &mut filter.user
            }),
        ];
        facets
            .into_iter()
            .map(|(name, values, field)| self.facet(name, values, field))
            .collect()
    }

    fn facet(&self, name: &'static str, values: Vec<String>, field: Field) -> Facet {
        let with = |value: Option<&String>| {
            let mut changed = self.clone();
            *field(&mut changed.filter) = value.cloned();
            changed.url(None)
        };
        let value = field(&mut self.filter.clone()).clone();
        let choices = values
            .into_iter()
            .map(|text| Choice {
                href: with(Some(&text)),
                is_current: value.as_ref() == Some(&text),
                text,
            })
            .collect();
        Facet {
            name,
            value,
            clear: with(None),
            choices,
        }
    }

    /// Returns whether any filter is set.
    pub(super) fn is_filtered(&self) -> bool {
        self.filter != RunFilter::default()
    }

    /// Returns the address for a list page.
    pub(super) fn url(&self, after: Option<&Cursor>) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        match self.part {
            Part::Active => {}
            Part::Finished => {
                query.append_pair("status", "finished");
            }
            Part::All => {
                query.append_pair("all", "1");
            }
        }
        let RunFilter {
            agent,
            channel,
            repo,
            user,
        } = &self.filter;
        for (name, value) in [
            ("agent", agent),
            ("channel", channel),
            ("repo", repo),
            ("user", user),
        ] {
            if let Some(value) = value {
                query.append_pair(name, value);
            }
        }
        if let Some(cursor) = after {
            query.append_pair("before", &cursor.finished_at.to_string());
            query.append_pair("beforeId", cursor.id.as_str());
        }
        let query = query.finish();
        if query.is_empty() {
            "/runs".to_owned()
        } else {
            format!("/runs?{query}")
        }
    }
}

/// Selects a condition in a filter.
type Field = fn(&mut RunFilter) -> &mut Option<String>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_keep_the_other_filters() {
        let filter = RunFilter {
            agent: Some("coding".into()),
            repo: Some("acme/app&x".into()),
            ..RunFilter::default()
        };
        let listing = Listing {
            part: Part::Finished,
            filter,
        };
        assert_eq!(
            listing.url(None),
            "/runs?status=finished&agent=coding&repo=acme%2Fapp%26x"
        );
        let facets = listing.facets(&[]);
        assert_eq!(facets[0].clear, "/runs?status=finished&repo=acme%2Fapp%26x");
        assert_eq!(
            listing.parts()[0].href,
            "/runs?agent=coding&repo=acme%2Fapp%26x"
        );
        assert!(listing.parts()[1].is_current);
    }
}
