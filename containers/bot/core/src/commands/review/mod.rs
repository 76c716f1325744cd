//! `review.*`

mod abridge;

pub(super) use abridge::Abridge;
