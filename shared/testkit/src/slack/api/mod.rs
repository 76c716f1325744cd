//! The methods of the Web API.

mod answer;
mod chat;
mod conversations;
mod lists;
mod members;
mod methods;
mod pages;
mod reactions;
mod scopes;
mod session;
mod streams;
mod uploads;

pub(super) use answer::Answer;
pub(super) use methods::{answer, takes_json};
