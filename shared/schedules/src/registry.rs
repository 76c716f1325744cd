//! The service's schedules. A deployment's crons equal those that its Worker fires.

/// The `worker` of a schedule that the bot itself fires.
pub const BOT: &str = "bot";
/// Name of the schedule that files issues about recurring friction.
pub const SELF_IMPROVEMENT: &str = "self-improvement";

/// A schedule that is built in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// The schedule's unique name.
    pub name: &'static str,
    /// Five fields, in UTC.
    pub cron: &'static str,
    /// The Worker that fires it, or [`BOT`].
    pub worker: &'static str,
    /// Description for people, in a line.
    pub description: &'static str,
    /// Whether it belongs to the service itself, so that lists leave it out.
    pub internal: bool,
    /// What a firing does.
    pub action: Action,
}

/// What a firing does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Requests the bot's health, which keeps the container awake.
    Healthz,
    /// Repairs residents through the watchdog.
    Watchdog,
    /// Sends a text to the bot.
    Run {
        /// Text that is sent.
        command: &'static str,
        /// The actor that sends it.
        identity: &'static str,
    },
}

impl Action {
    /// Returns the name in lists.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Healthz => "healthz",
            Self::Watchdog => "watchdog",
            Self::Run { .. } => "run",
        }
    }
}

/// Every schedule, in order.
pub const SCHEDULES: &[Schedule] = &[
    Schedule {
        name: "keep-alive",
        cron: "* * * * *",
        worker: "edge",
        description: "keeps the bot's container awake",
        internal: true,
        action: Action::Healthz,
    },
    Schedule {
        name: SELF_IMPROVEMENT,
        cron: "0 14 * * 1",
        worker: BOT,
        description: "files recurring causes of slow runs as issues",
        internal: false,
        action: Action::Run {
            command: "friction propose",
            identity: "schedule:self-improvement",
        },
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cron;

    /// The deployed configuration of the Worker that fires them.
    const DEPLOYED: &str = include_str!("../../../wrangler.toml");

    #[test]
    fn deployed_crons_equal_the_schedules() {
        let line = DEPLOYED
            .lines()
            .find_map(|line| line.trim().strip_prefix("crons = "))
            .unwrap();
        let deployed: Vec<&str> = line.split('"').skip(1).step_by(2).collect();
        let of_worker = SCHEDULES.iter().filter(|schedule| schedule.worker != BOT);
        assert_eq!(
            deployed,
            of_worker.map(|schedule| schedule.cron).collect::<Vec<_>>()
        );
        assert!(
            SCHEDULES
                .iter()
                .all(|schedule| Cron::parse(schedule.cron).is_ok())
        );
    }
}
