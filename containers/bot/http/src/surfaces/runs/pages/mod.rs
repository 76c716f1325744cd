//! The pages and their templates.

mod changes;
mod diagnosis;
mod disk_bar;
mod docs;
mod facts;
mod fleet;
mod index;
mod listing;
mod nav;
mod outcomes;
mod outline;
mod problem;
mod render;
mod resident;
mod run;
mod schedules;
mod sparkline;
mod tail;

pub(crate) use changes::Changes;
pub(crate) use diagnosis::DiagnosisView;
pub(crate) use docs::DocsPage;
pub(crate) use fleet::FleetPage;
pub(crate) use index::{IndexPage, Row};
pub(crate) use listing::{Listing, Part};
pub(crate) use nav::{Nav, REPO_LIST, SCHEDULE_LIST, Section};
pub(crate) use outcomes::OutcomesPage;
pub(crate) use problem::ProblemPage;
pub(crate) use resident::ResidentPage;
pub(crate) use run::{RunParts, Tab};
pub(crate) use schedules::SchedulesPage;
pub(crate) use tail::Tail;
