//! `help.*`

mod show;

pub(super) use show::{SHOW, Show, of_all, of_group};
