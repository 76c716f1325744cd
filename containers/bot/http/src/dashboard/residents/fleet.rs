//! The resident list, and the parts that a single resident's page shares with it.

use ars_bot_core::queries::Fleet;
use ars_resident::{
    lifecycle::StateWord,
    names::Sha,
    wire::{Live, RegistryRow},
};
use ars_types::UnixMillis;
use askama::Template;
use axum::response::Response;

use super::disk_bar::DiskBar;
use crate::{
    dashboard::shell::{Nav, render, status_text},
    time::{duration, iso},
};

/// Commit digits shown in a list.
const SHORT_SHA: usize = 7;

/// A state's tone, by which the page is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    /// The resident is ready.
    Good,
    /// Between two states.
    Changing,
    /// Degraded or down.
    Bad,
    /// The state is not known.
    Unknown,
}

impl Tone {
    /// Returns a resident's tone.
    pub(super) fn for_resident(row: &RegistryRow) -> Self {
        match &row.live {
            Live::Unreachable(_) => Self::Unknown,
            Live::View(view) => match view.state {
                StateWord::Warm => Self::Good,
                StateWord::Onboarding | StateWord::Refreshing | StateWord::Restoring => {
                    Self::Changing
                }
                StateWord::Degraded | StateWord::Down => Self::Bad,
            },
        }
    }

    /// Returns the worst tone. Only residents that are all ready are good.
    pub(super) fn worst(tones: &[Self]) -> Self {
        match tones {
            _ if tones.contains(&Self::Bad) => Self::Bad,
            _ if tones.contains(&Self::Changing) => Self::Changing,
            [] => Self::Unknown,
            _ if tones.iter().all(|tone| *tone == Self::Good) => Self::Good,
            _ => Self::Unknown,
        }
    }

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Changing => "changing",
            Self::Bad => "bad",
            Self::Unknown => "unknown",
        }
    }
}

/// A time with the age.
pub(super) struct Age {
    pub(super) at: UnixMillis,
    pub(super) iso: String,
    pub(super) text: String,
}

impl Age {
    pub(super) fn since(at: UnixMillis, now: UnixMillis) -> Self {
        Self {
            at,
            iso: iso(at),
            text: duration(now.saturating_sub(at)),
        }
    }
}

/// A resident in the list.
pub(super) struct Card {
    pub(super) slug: String,
    pub(super) tone: Tone,
    pub(super) state: String,
    pub(super) reason: Option<String>,
    pub(super) git_ref: String,
    pub(super) sha: Option<String>,
    pub(super) refreshed: Option<Age>,
    pub(super) refresh_error: Option<String>,
    pub(super) trees: String,
    pub(super) in_flight: Option<String>,
    pub(super) disk: Option<DiskBar>,
}

impl Card {
    /// Returns the card for a row.
    pub(super) fn for_resident(row: &RegistryRow, now: UnixMillis) -> Self {
        let slug = row.record.resource.slug().to_owned();
        let tone = Tone::for_resident(row);
        let git_ref = row.record.default_ref.to_string();
        match &row.live {
            Live::Unreachable(error) => Self {
                slug,
                tone,
                state: "Not reachable".to_owned(),
                reason: Some(error.error.clone()),
                git_ref,
                sha: None,
                refreshed: None,
                refresh_error: None,
                trees: "trees unknown".to_owned(),
                in_flight: None,
                disk: None,
            },
            Live::View(view) => Self {
                slug,
                tone,
                state: status_text(view.state.as_str()),
                reason: view.reason.clone(),
                git_ref,
                sha: view.sha.as_ref().map(short),
                refreshed: view.last_refresh_at.map(|at| Age::since(at, now)),
                refresh_error: view.last_refresh_error.clone(),
                trees: counted(
                    view.threads.iter().filter(|thread| !thread.evicted).count(),
                    "tree",
                ),
                in_flight: (view.in_flight > 0)
                    .then(|| counted(view.in_flight as usize, "operation")),
                disk: view
                    .disk
                    .as_ref()
                    .map(|sample| DiskBar::from_sample(sample, &row.record)),
            },
        }
    }

    pub(super) fn tone_word(&self) -> &'static str {
        self.tone.word()
    }
}

/// Returns a commit's first digits.
pub(super) fn short(sha: &Sha) -> String {
    sha.as_str().chars().take(SHORT_SHA).collect()
}

fn counted(count: usize, noun: &str) -> String {
    match count {
        0 => format!("no {noun}s"),
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}

/// Template for the fleet page.
#[derive(Template)]
#[template(path = "residents.html")]
pub(crate) struct FleetPage {
    nav: Nav,
    version: String,
    tone: &'static str,
    count: u32,
    cap: u32,
    cards: Vec<Card>,
}

impl FleetPage {
    /// Returns the page for these residents.
    pub(crate) fn response(nav: Nav, fleet: &Fleet, now: UnixMillis) -> Response {
        render(&Self::new(nav, fleet, now))
    }

    fn new(nav: Nav, fleet: &Fleet, now: UnixMillis) -> Self {
        let answer = &fleet.answer;
        let tones: Vec<Tone> = answer.residents.iter().map(Tone::for_resident).collect();
        Self {
            nav,
            version: fleet.version(),
            tone: Tone::worst(&tones).word(),
            count: answer.count,
            cap: answer.cap,
            cards: answer
                .residents
                .iter()
                .map(|row| Card::for_resident(row, now))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worst_tone_marks_the_fleet() {
        use Tone::{Bad, Changing, Good, Unknown};
        for (tones, worst) in [
            (&[][..], Unknown),
            (&[Good, Good], Good),
            (&[Good, Unknown], Unknown),
            (&[Good, Unknown, Changing], Changing),
            (&[Changing, Bad], Bad),
        ] {
            assert_eq!(Tone::worst(tones), worst, "{tones:?}");
        }
    }
}
