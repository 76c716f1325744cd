//! Resolves a request's agent, model and effort (docs/reference/ingress.md#resolution).
//!
//! Not here: the known agents and models, and the default if no layer chooses.

use std::collections::BTreeMap;

use ars_types::{Effort, ModelRef};

use crate::Scope;

/// A choice by a directive or by the thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Choice<'a> {
    /// The agent that is chosen.
    pub agent: Option<&'a str>,
    /// The model that is chosen.
    pub model: Option<&'a ModelRef>,
    /// The effort that is chosen.
    pub effort: Option<Effort>,
}

/// The installation's defaults.
#[derive(Debug, Clone, Copy)]
pub struct Defaults<'a> {
    /// The agent that is chosen.
    pub agent: Option<&'a str>,
    /// Model for an agent that is not in `models`.
    pub model: Option<&'a ModelRef>,
    /// Models keyed by agent name.
    pub models: &'a BTreeMap<String, ModelRef>,
    /// Efforts keyed by agent name.
    pub efforts: &'a BTreeMap<String, Effort>,
}

/// All layers, highest precedence first.
#[derive(Debug, Clone, Copy)]
pub struct Layers<'a> {
    /// Choice by the request itself.
    pub directive: Choice<'a>,
    /// Choice by the thread, from its earlier requests.
    pub thread: Choice<'a>,
    /// The requester's scope.
    pub user: &'a Scope,
    /// The channel's scope.
    pub channel: &'a Scope,
    /// Defaults from the installation.
    pub defaults: Defaults<'a>,
}

impl<'a> Layers<'a> {
    /// Returns the agent from the highest layer that chooses any.
    pub fn agent(&self) -> Option<&'a str> {
        self.directive
            .agent
            .or(self.thread.agent)
            .or(self.user.agent.as_deref())
            .or(self.channel.agent.as_deref())
            .or(self.defaults.agent)
    }

    /// Returns the model for `agent`. In each scope, `model` precedes `models.<agent>`.
    pub fn model(&self, agent: &str) -> Option<&'a ModelRef> {
        self.directive
            .model
            .or(self.thread.model)
            .or(self.user.model.as_ref())
            .or(self.channel.model.as_ref())
            .or_else(|| self.user.models.get(agent))
            .or_else(|| self.channel.models.get(agent))
            .or_else(|| self.defaults.models.get(agent))
            .or(self.defaults.model)
    }

    /// Returns the effort for `agent`, which may have a built-in effort.
    pub fn effort(&self, agent: &str, built_in: Option<Effort>) -> Option<Effort> {
        self.directive
            .effort
            .or(self.thread.effort)
            .or(self.user.effort)
            .or(self.channel.effort)
            .or_else(|| self.user.efforts.get(agent).copied())
            .or_else(|| self.channel.efforts.get(agent).copied())
            .or_else(|| self.defaults.efforts.get(agent).copied())
            .or(built_in)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(text: &str) -> ModelRef {
        ModelRef::parse(text).unwrap()
    }

    /// Every place that can choose, each with a different choice, and a way to clear it.
    struct Full {
        directive: (Option<&'static str>, Option<ModelRef>, Option<Effort>),
        thread: (Option<&'static str>, Option<ModelRef>, Option<Effort>),
        user: Scope,
        channel: Scope,
        default_agent: Option<&'static str>,
        default_model: Option<ModelRef>,
        models: BTreeMap<String, ModelRef>,
        efforts: BTreeMap<String, Effort>,
    }

    fn scope(name: &str, effort: Effort, of_agent: Effort) -> Scope {
        Scope {
            agent: Some(format!("{name}-agent")),
            model: Some(model(&format!("{name}/own"))),
            models: BTreeMap::from([("coding".into(), model(&format!("{name}/coding")))]),
            effort: Some(effort),
            efforts: BTreeMap::from([("coding".into(), of_agent)]),
            ..Scope::default()
        }
    }

    fn full() -> Full {
        Full {
            directive: (Some("asked"), Some(model("directive/m")), Some(Effort::Low)),
            thread: (Some("kept"), Some(model("thread/m")), Some(Effort::Medium)),
            user: scope("user", Effort::High, Effort::Max),
            channel: scope("channel", Effort::Xhigh, Effort::Low),
            default_agent: Some("default"),
            default_model: Some(model("default/any")),
            models: BTreeMap::from([("coding".into(), model("default/coding"))]),
            efforts: BTreeMap::from([("coding".into(), Effort::Medium)]),
        }
    }

    impl Full {
        fn layers(&self) -> Layers<'_> {
            Layers {
                directive: Choice {
                    agent: self.directive.0,
                    model: self.directive.1.as_ref(),
                    effort: self.directive.2,
                },
                thread: Choice {
                    agent: self.thread.0,
                    model: self.thread.1.as_ref(),
                    effort: self.thread.2,
                },
                user: &self.user,
                channel: &self.channel,
                defaults: Defaults {
                    agent: self.default_agent,
                    model: self.default_model.as_ref(),
                    models: &self.models,
                    efforts: &self.efforts,
                },
            }
        }
    }

    type Silence = fn(&mut Full);

    #[test]
    fn agent_layers_have_the_documented_precedence() {
        let mut full = full();
        let order: [(&str, Silence); 5] = [
            ("asked", |full| full.directive.0 = None),
            ("kept", |full| full.thread.0 = None),
            ("user-agent", |full| full.user.agent = None),
            ("channel-agent", |full| full.channel.agent = None),
            ("default", |full| full.default_agent = None),
        ];
        for (expected, silence) in order {
            assert_eq!(full.layers().agent(), Some(expected));
            silence(&mut full);
        }
        assert_eq!(full.layers().agent(), None);
    }

    #[test]
    fn scope_model_precedes_agent_models() {
        let mut full = full();
        let order: [(&str, Silence); 8] = [
            ("directive/m", |full| full.directive.1 = None),
            ("thread/m", |full| full.thread.1 = None),
            ("user/own", |full| full.user.model = None),
            ("channel/own", |full| full.channel.model = None),
            ("user/coding", |full| full.user.models.clear()),
            ("channel/coding", |full| full.channel.models.clear()),
            ("default/coding", |full| full.models.clear()),
            ("default/any", |full| full.default_model = None),
        ];
        for (expected, silence) in order {
            assert_eq!(full.layers().model("coding"), Some(&model(expected)));
            silence(&mut full);
        }
        assert_eq!(full.layers().model("coding"), None);
    }

    #[test]
    fn built_in_effort_has_lowest_precedence() {
        let mut full = full();
        let order: [(Effort, Silence); 7] = [
            (Effort::Low, |full| full.directive.2 = None),
            (Effort::Medium, |full| full.thread.2 = None),
            (Effort::High, |full| full.user.effort = None),
            (Effort::Xhigh, |full| full.channel.effort = None),
            (Effort::Max, |full| full.user.efforts.clear()),
            (Effort::Low, |full| full.channel.efforts.clear()),
            (Effort::Medium, |full| full.efforts.clear()),
        ];
        for (expected, silence) in order {
            assert_eq!(
                full.layers().effort("coding", Some(Effort::High)),
                Some(expected)
            );
            silence(&mut full);
        }
        assert_eq!(
            full.layers().effort("coding", Some(Effort::High)),
            Some(Effort::High)
        );
        assert_eq!(full.layers().effort("coding", None), None);
    }

    #[test]
    fn agent_settings_do_not_affect_other_agents() {
        let mut full = full();
        full.directive = (None, None, None);
        full.thread = (None, None, None);
        (full.user.model, full.channel.model, full.default_model) = (None, None, None);
        (full.user.effort, full.channel.effort) = (None, None);
        assert_eq!(full.layers().model("review"), None);
        assert_eq!(full.layers().effort("review", None), None);
    }
}
