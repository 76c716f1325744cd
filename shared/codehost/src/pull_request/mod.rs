//! Coding runs' pull requests: the description by the agent, the evidence by code, and the flow.

mod check_run;
mod command;
mod description;
mod evidence;
mod flow;
mod render;

pub use check_run::{CheckRun, check_run};
pub use command::{KnownCommands, check_of};
pub use description::{Description, InvalidDescription, TourAnchor, TourStep};
pub use evidence::{Check, CheckResult, Evidence, ExpectedCheck};
pub use flow::{Action, Found, Input, Opened, Outcome, PullRequestFlow, Pushed};
pub use render::{PullRequestText, is_marked_draft, render};
