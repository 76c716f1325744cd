//! The pages and their templates.

mod changes;
mod diagnosis;
mod docs;
mod facts;
mod index;
mod listing;
mod nav;
mod outline;
mod render;
mod run;
mod schedules;
mod tail;

pub(crate) use changes::Changes;
pub(crate) use diagnosis::DiagnosisView;
pub(crate) use docs::DocsPage;
pub(crate) use index::{IndexPage, Row};
pub(crate) use listing::{Listing, Part};
pub(crate) use nav::{Nav, SCHEDULE_LIST, Section};
pub(crate) use run::{RunParts, Tab};
pub(crate) use schedules::SchedulesPage;
pub(crate) use tail::Tail;
