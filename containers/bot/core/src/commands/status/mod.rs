//! `status.*`

mod show;

pub(super) use show::Show;
