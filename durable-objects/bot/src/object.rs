//! The lifecycle as an object that JavaScript reports to and takes actions from.

use ars_container::{
    Answer,
    lifecycle::{Action, Input, Lifecycle, Verdict},
    restart,
};
use ars_platform::Response;
use ars_proxy::environment;

use crate::{BUILD, request::response};

/// What [`BotObject::want`] says of a request that may pass.
const PASS: i32 = -1;
/// And of one that waits.
const HOLD: i32 = 0;

/// The container's life. A Worker wraps it in the class it exports.
pub struct BotObject {
    life: Lifecycle,
    actions: Vec<Action>,
}

/// The version of what a container is started with now; `image` names the image where that is no build's.
pub fn version(image: Option<&str>, tokens: Option<&str>) -> String {
    environment::version(image.unwrap_or(BUILD), tokens)
}

impl BotObject {
    /// Wakes the object. `kept` is what an earlier life kept; `version` is [`version`]'s.
    pub fn new(kept: Option<&str>, version: &str, running: bool, now: f64) -> Self {
        let mut object = Self { life: Lifecycle::of(kept, version), actions: Vec::new() };
        object.step(Input::Woke { running }, now);
        object
    }

    /// What becomes of a request: -1 it passes, 0 it waits for a change, else the seconds of a refusal.
    pub fn want(&mut self, now: f64) -> i32 {
        self.step(Input::Wanted, now);
        match self.life.verdict(now as i64) {
            Verdict::Pass => PASS,
            Verdict::Hold => HOLD,
            Verdict::Refuse { retry_after } => i32::try_from(retry_after).unwrap_or(i32::MAX),
        }
    }

    /// A look at the container of that number.
    pub fn looked(&mut self, start: u32, healthy: bool, now: f64) {
        self.step(Input::Looked { start, healthy }, now);
    }

    /// The end of the container of that number.
    pub fn ended(&mut self, start: u32, code: Option<i32>, now: f64) {
        self.step(Input::Ended { start, code }, now);
    }

    /// The container of that number runs, though its watch or its start failed.
    pub fn unwatched(&mut self, start: u32, now: f64) {
        self.step(Input::Unwatched { start }, now);
    }

    /// The alarm.
    pub fn rang(&mut self, now: f64) {
        self.step(Input::Rang, now);
    }

    /// Whether there is anything to stop.
    pub fn is_running(&self) -> bool {
        self.life.is_running()
    }

    /// Decides a restart that the bot gave leave for, by its health.
    pub fn restart(&mut self, force: bool, status: Option<u16>, body: Option<&[u8]>, now: f64) -> Response {
        response(&self.restarted(force, status.zip(body), now))
    }

    fn restarted(&mut self, force: bool, health: Option<(u16, &[u8])>, now: f64) -> Answer {
        // It may have ended while it was asked: nothing would follow from telling it to.
        if !self.is_running() {
            return restart::not_running();
        }
        match restart::decide(force, health) {
            Ok(restarting) => {
                self.step(Input::Restart { force }, now);
                restart::begun(&restarting)
            }
            Err(refusal) => refusal,
        }
    }

    /// What to do since the last call, in JSON.
    pub fn actions(&mut self) -> String {
        // Plain data with string keys has a JSON form.
        serde_json::to_string(&std::mem::take(&mut self.actions)).unwrap_or_else(|_| "[]".to_owned())
    }

    /// What the storage is to keep.
    pub fn kept(&self) -> String {
        self.life.kept()
    }

    fn step(&mut self, input: Input, now: f64) {
        self.actions.extend(self.life.step(input, now as i64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_told_once_under_the_names_that_javascript_knows() {
        let mut object = BotObject::new(None, "v1", false, 0.0);
        assert_eq!(object.actions(), "[]");
        assert_eq!(object.want(0.0), HOLD);
        let expected =
            r#"[{"do":"start","start":1},{"do":"watch","start":1},{"do":"look","start":1,"after":25}]"#;
        assert_eq!(object.actions(), expected);
        assert_eq!(object.actions(), "[]");
        object.looked(1, true, 10.0);
        assert_eq!((object.want(10.0), object.is_running()), (PASS, true));
    }

    #[test]
    fn a_bot_that_ended_while_it_was_asked_is_told_as_one_that_does_not_run() {
        let health = br#"{"ok":true,"inFlight":0,"draining":false,"startedAt":"t0"}"#;
        let mut object = BotObject::new(None, "v1", false, 0.0);
        object.want(0.0);
        object.looked(1, true, 1.0);
        object.ended(1, Some(137), 2.0);
        object.actions();
        for force in [false, true] {
            for health in [None, Some((200, health.as_slice()))] {
                assert_eq!(object.restarted(force, health, 3.0), restart::not_running());
            }
        }
        assert_eq!(object.actions(), "[]");
        object.want(3.0);
        assert_eq!(object.restarted(true, None, 3.0).status, 202);
    }

    #[test]
    fn a_refusal_says_when_to_come_back() {
        let mut object = BotObject::new(None, "v1", false, 0.0);
        for _ in 0..5 {
            object.want(0.0);
            let start: serde_json::Value = serde_json::from_str(&object.actions()).unwrap();
            if let Some(start) = start[0]["start"].as_u64() {
                object.ended(u32::try_from(start).unwrap(), Some(1), 0.0);
            }
        }
        assert!(object.want(0.0) >= 1 && !object.is_running());
    }
}
