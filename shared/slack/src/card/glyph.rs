//! The emoji that begins a card's title and shows its phase.

/// Phase of a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Glyph {
    Eyes,
    Spinner,
    Check,
    Cross,
    Stop,
    NoEntry,
}

impl Glyph {
    /// Those of a run that has not ended.
    pub(super) const LIVE: [Self; 2] = [Self::Eyes, Self::Spinner];

    /// Returns the emoji in Slack's notation, which history returns unchanged.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Eyes => ":eyes:",
            Self::Spinner => ":arrows_counterclockwise:",
            Self::Check => ":white_check_mark:",
            Self::Cross => ":x:",
            Self::Stop => ":octagonal_sign:",
            Self::NoEntry => ":no_entry:",
        }
    }
}
