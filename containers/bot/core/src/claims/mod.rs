//! Claims that all processes of an installation share.

mod review;
mod work;

pub(crate) use review::ReviewClaimStore;
pub(crate) use work::{MAX_WORK_CLAIM_AGE_MS, WorkClaims};
