//! Reviews: the verdict, the first line, the reading diff, and the post to the code host.

mod abridge;
mod claims;
mod first_line;
mod placement;
mod post;
mod provider;
mod reading_diff;
mod submission;
mod target;
mod verdict;

pub use abridge::{
    AbridgeRefused, Abridged, Abridgement, Decided, Job, ReviewRun, abridge, abridge_input,
};
pub use claims::{Claimed, ReviewClaims, claim_key};
pub use first_line::{End, prepend_status_line};
pub use placement::{Finding, InlineComment, MAX_FINDING_CHARS, Placed, place};
pub use post::{Action, ClaimEnd, Input, Outcome, ReviewPost, Submitted, Unposted};
pub use provider::{AbridgerParts, Provider, ReadingDiffSettings};
pub use reading_diff::readable_diff;
pub use submission::{OwnReview, Submission, is_posted};
pub use target::{
    PullRequest, PullRequestState, TargetRefused, attached_head, review_target, target_block,
    wants_post,
};
pub use verdict::{Decision, Verdict};
