//! Links in every page's header: the surfaces that the installation has.

use ars_commands::Surface;

use crate::{Dashboard, state::HttpState};

/// The command that lists the schedules. An installation without schedules does not have it.
pub(crate) const SCHEDULE_LIST: &str = "schedule.list";

/// The command that lists the residents. An installation without residents does not have it.
pub(crate) const REPO_LIST: &str = "repo.list";

/// The surface to which a page belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    /// The list of runs.
    Runs,
    /// Outcomes of pull requests and reviews.
    Outcomes,
    /// The residents' pages.
    Residents,
    /// The schedules' page.
    Schedules,
    /// The documentation page.
    Docs,
    /// None: a page that tells what is wrong.
    Elsewhere,
}

/// Links for the header.
#[derive(Debug, Clone)]
pub(crate) struct Nav {
    has_residents: bool,
    has_schedules: bool,
    has_sign_out: bool,
    current: Section,
}

/// A link to a section.
pub(crate) struct Link {
    pub(crate) href: &'static str,
    pub(crate) text: &'static str,
    pub(crate) is_current: bool,
}

impl Nav {
    /// Returns an installation's links on a page in this section.
    pub(crate) fn new(state: &HttpState, current: Section) -> Self {
        let commands = state.core.commands();
        let has_residents = commands.registry().get(REPO_LIST, Surface::Api).is_some();
        let has_schedules = commands
            .registry()
            .get(SCHEDULE_LIST, Surface::Api)
            .is_some();
        let has_sign_out = matches!(&*state.dashboard, Dashboard::Token { .. });
        Self {
            has_residents,
            has_schedules,
            has_sign_out,
            current,
        }
    }

    /// Returns whether the installation has schedules.
    pub(crate) fn has_schedules(&self) -> bool {
        self.has_schedules
    }

    /// Returns whether viewers have sessions, which they can end.
    pub(crate) fn has_sign_out(&self) -> bool {
        self.has_sign_out
    }

    /// Returns the links in order.
    pub(crate) fn links(&self) -> Vec<Link> {
        let link = |href, text, section| Link {
            href,
            text,
            is_current: section == Some(self.current),
        };
        let schedules = self
            .has_schedules
            .then(|| link("/schedules", "Schedules", Some(Section::Schedules)));
        let residents = self
            .has_residents
            .then(|| link("/residents", "Residents", Some(Section::Residents)));
        let outcomes = link("/runs/outcomes", "Outcomes", Some(Section::Outcomes));
        [
            Some(link("/runs", "Runs", Some(Section::Runs))),
            Some(outcomes),
            residents,
            schedules,
        ]
        .into_iter()
        .flatten()
        .chain([
            link("/runs/docs", "Docs", Some(Section::Docs)),
            link(ars_wire::api::OPENAPI, "API", None),
        ])
        .collect()
    }

    /// Returns the links for a page under test.
    #[cfg(test)]
    pub(crate) fn bare() -> Self {
        Self {
            has_residents: false,
            has_schedules: false,
            has_sign_out: false,
            current: Section::Runs,
        }
    }
}
