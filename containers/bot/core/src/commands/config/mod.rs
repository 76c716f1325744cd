//! `config.*`: channel and user settings.

mod clear;
mod instructions;
mod scope;
mod set;
mod show;
mod view;

pub(super) use clear::Clear;
pub(super) use instructions::Instructions;
pub(super) use set::Set;
pub(super) use show::Show;
