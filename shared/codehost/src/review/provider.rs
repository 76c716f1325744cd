//! Which program makes reading diffs for reviews, and whether they can be abridged.

/// Default abridger timeout in seconds.
const DEFAULT_ABRIDGER_TIMEOUT_S: u64 = 240;

/// Program that makes reading diffs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// Git makes each review's diff.
    Git,
    /// An abridger also shortens each review's diff.
    Meat,
    /// There are no reading diffs.
    Off,
}

/// Settings for reading diffs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadingDiffSettings {
    /// The program that makes them.
    pub provider: Provider,
    /// The abridger's model, if configured.
    pub model: Option<String>,
    /// Abridger timeout in seconds.
    pub timeout_s: u64,
}

impl Default for ReadingDiffSettings {
    fn default() -> Self {
        Self {
            provider: Provider::Git,
            model: None,
            timeout_s: DEFAULT_ABRIDGER_TIMEOUT_S,
        }
    }
}

/// The parts that an abridged diff needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AbridgerParts {
    /// The abridger is installed.
    pub has_abridger: bool,
    /// The model's API key is configured.
    pub has_model_key: bool,
    /// Runs are stored in a history.
    pub has_history: bool,
}

impl Provider {
    /// Parses the provider's name.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "git" => Some(Self::Git),
            "meat" => Some(Self::Meat),
            "off" => Some(Self::Off),
            _ => None,
        }
    }
}

impl ReadingDiffSettings {
    /// Applies the environment's word, which wins. An unknown word is ignored.
    pub fn with_override(self, word: Option<&str>) -> Self {
        let provider = word.and_then(Provider::parse).unwrap_or(self.provider);
        Self { provider, ..self }
    }

    /// Returns whether `review.abridge` is offered. Otherwise the command is hidden.
    pub fn offers_abridging(&self, parts: AbridgerParts) -> bool {
        let AbridgerParts {
            has_abridger,
            has_model_key,
            has_history,
        } = parts;
        self.provider != Provider::Off && has_abridger && has_model_key && has_history
    }

    /// Returns whether each review is abridged without a command.
    pub fn is_automatic(&self, parts: AbridgerParts) -> bool {
        self.provider == Provider::Meat && self.offers_abridging(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: AbridgerParts = AbridgerParts {
        has_abridger: true,
        has_model_key: true,
        has_history: true,
    };

    #[test]
    fn known_word_of_the_environment_wins() {
        let configured = ReadingDiffSettings {
            provider: Provider::Meat,
            ..ReadingDiffSettings::default()
        };
        for (word, expected) in [
            (None, Provider::Meat),
            (Some("git"), Provider::Git),
            (Some("off"), Provider::Off),
            (Some("Git"), Provider::Meat),
            (Some(""), Provider::Meat),
        ] {
            assert_eq!(
                configured.clone().with_override(word).provider,
                expected,
                "{word:?}"
            );
        }
        assert_eq!(
            (
                ReadingDiffSettings::default().provider,
                configured.timeout_s
            ),
            (Provider::Git, 240)
        );
    }

    #[test]
    fn abridging_needs_every_part() {
        let offers = |provider, parts| {
            let settings = ReadingDiffSettings {
                provider,
                ..ReadingDiffSettings::default()
            };
            (
                settings.offers_abridging(parts),
                settings.is_automatic(parts),
            )
        };
        assert_eq!(offers(Provider::Git, ALL), (true, false));
        assert_eq!(offers(Provider::Meat, ALL), (true, true));
        assert_eq!(offers(Provider::Off, ALL), (false, false));
        for parts in [
            AbridgerParts {
                has_abridger: false,
                ..ALL
            },
            AbridgerParts {
                has_model_key: false,
                ..ALL
            },
            AbridgerParts {
                has_history: false,
                ..ALL
            },
        ] {
            assert_eq!(offers(Provider::Meat, parts), (false, false), "{parts:?}");
        }
    }
}
