//! `repo.*`: residents, and their operations without a model (docs/reference/residents.md).

mod build;
mod detection;
mod list;
mod offboard;
mod onboard;
mod operation;
mod provisioning;
mod rebuild;
mod reconfigure;
mod subject;
mod test;

pub(super) use build::Build;
pub(super) use list::List;
pub(super) use offboard::Offboard;
pub(super) use onboard::Onboard;
pub(super) use rebuild::Rebuild;
pub(super) use reconfigure::Reconfigure;
pub(super) use test::Test;
