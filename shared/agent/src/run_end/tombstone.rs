//! Tombstones: records for runs that the shutdown deadline leaves unfinished.

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The loop is working.
    Running,
    /// The loop has ended, and the reply is in progress.
    Finished,
    /// The reply is done and the stream is over. The final record waits for the ledger.
    Sealed,
    /// The final record is being written.
    Recording,
}

/// A record that the final record replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tombstone {
    /// The run was cut off.
    Interrupted,
    /// The run ended as it did, and the final record is held up.
    Ended,
}

impl Stage {
    /// Returns the tombstone for a run at this stage. While a run replies, the outcome is not yet
    /// known, and a final record that is being written must not be overtaken.
    pub const fn tombstone(self) -> Option<Tombstone> {
        match self {
            Self::Running => Some(Tombstone::Interrupted),
            Self::Sealed => Some(Tombstone::Ended),
            Self::Finished | Self::Recording => None,
        }
    }
}

impl Tombstone {
    /// Whether the tombstone would be wrong for a run that has come to this stage since.
    pub const fn is_outdated(self, stage: Stage) -> bool {
        match self {
            Self::Interrupted => !matches!(stage, Stage::Running),
            Self::Ended => matches!(stage, Stage::Recording),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tombstone_follows_the_stage() {
        let tombstones = [
            Stage::Running,
            Stage::Finished,
            Stage::Sealed,
            Stage::Recording,
        ]
        .map(Stage::tombstone);
        assert_eq!(
            tombstones,
            [
                Some(Tombstone::Interrupted),
                None,
                Some(Tombstone::Ended),
                None
            ]
        );
    }

    #[test]
    fn tombstone_never_overtakes_a_later_stage() {
        assert!(!Tombstone::Interrupted.is_outdated(Stage::Running));
        for stage in [Stage::Finished, Stage::Sealed, Stage::Recording] {
            assert!(Tombstone::Interrupted.is_outdated(stage), "{stage:?}");
        }
        assert!(!Tombstone::Ended.is_outdated(Stage::Sealed));
        assert!(Tombstone::Ended.is_outdated(Stage::Recording));
    }
}
