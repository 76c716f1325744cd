//! Converts the file to the core's settings.

use std::collections::BTreeMap;

use ars_agent::Budget;
use ars_bot_core::settings::{ProposalSettings, Settings};
use ars_bot_ports::Repository;
use ars_bot_tools::agents;
use ars_types::{ModelRef, RepoSlug};

use crate::environment::{self, name};

use super::{ConfigError, File, file::SelfImprovement, grants, people, scopes, spending};

/// Milliseconds in a minute.
const MINUTE_MS: i64 = 60_000;
/// Maximum label length on the code host, in characters.
const MAX_LABEL_CHARS: usize = 50;

/// Actor for the schedule that files issues about friction.
const PROPOSER: &str = "schedule:self-improvement";

impl File {
    /// Returns the core's settings. `model` is the default model when the file names none.
    pub fn settings(
        &self,
        model: Option<ModelRef>,
        public_base_url: Option<String>,
    ) -> Result<Settings, ConfigError> {
        let defaults = &self.defaults;
        if let Some(agent) = &defaults.agent {
            known_agent("defaults.agent", agent)?;
        }
        defaults
            .models
            .keys()
            .try_for_each(|agent| known_agent("defaults.models", agent))?;
        defaults
            .efforts
            .keys()
            .try_for_each(|agent| known_agent("defaults.efforts", agent))?;
        let of_egress = &self.sandbox.egress.agents;
        of_egress
            .keys()
            .try_for_each(|agent| known_agent("sandbox.egress.agents", agent))?;
        if defaults.max_tokens == Some(0) {
            return Err(ConfigError::invalid(
                "defaults.maxTokens",
                "must be at least 1",
            ));
        }
        if self.self_improvement.min_runs == Some(0) {
            return Err(ConfigError::invalid(
                "selfImprovement.minRuns",
                "must be at least 1",
            ));
        }
        let proposals = self.proposals()?;
        let repositories = self.repositories()?;
        if let Some(name) = &defaults.repository
            && !repositories
                .iter()
                .any(|repository| repository.name == *name)
        {
            return Err(ConfigError::invalid(
                "defaults.repository",
                "is not one of [[repositories]]",
            ));
        }
        Ok(Settings {
            default_agent: defaults.agent.clone(),
            default_model: model,
            fallback_model: defaults.fallback_model.clone(),
            models: defaults.models.clone(),
            efforts: defaults.efforts.clone(),
            max_tokens: defaults.max_tokens,
            scopes: scopes::scopes(&self.channels, &self.users, &defaults.mcp_servers)?,
            budgets: self.budgets()?,
            windows: spending::model_windows(&self.windows)?,
            prices: spending::price_table(&self.prices)?,
            money: spending::money(&self.money)?,
            repositories,
            default_repository: defaults.repository.clone(),
            allowed_origins: self
                .requests
                .allow_origins
                .iter()
                .filter(|prefix| !prefix.is_empty())
                .cloned()
                .collect(),
            restrictions: grants::restrictions(&self.restrict)?,
            grants: grants::grants(&self.grants)?,
            people: people::people(&self.people, self.users.keys())?,
            load: self.limits.load(),
            public_base_url: public_base_url.map(|url| url.trim_end_matches('/').to_owned()),
            include_context: self.run_history.include_context,
            structured_output: self.output.structured,
            report_min_runs: self.self_improvement.min_runs,
            proposals,
            reading_diff: self
                .review
                .reading_diff(environment::variable(name::READING_DIFF).as_deref())?,
        })
    }

    /// Returns whether the bot fires its own schedule: the schedule for proposals.
    pub fn fires_schedules(&self, has_code_host: bool) -> bool {
        has_code_host && self.self_improvement.repo.is_some() && self.grants.contains_key(PROPOSER)
    }

    fn proposals(&self) -> Result<ProposalSettings, ConfigError> {
        let SelfImprovement {
            repo, label, top, ..
        } = &self.self_improvement;
        let slug = |name: &String| {
            RepoSlug::parse(name.to_ascii_lowercase())
                .map_err(|_| ConfigError::invalid("selfImprovement.repo", "must be `owner/name`"))
        };
        let is_label =
            |label: &String| !label.trim().is_empty() && label.chars().count() <= MAX_LABEL_CHARS;
        if label.as_ref().is_some_and(|label| !is_label(label)) {
            return Err(ConfigError::invalid(
                "selfImprovement.label",
                "must have 1 to 50 characters",
            ));
        }
        if *top == Some(0) {
            return Err(ConfigError::invalid(
                "selfImprovement.top",
                "must be at least 1",
            ));
        }
        let repository = repo.as_ref().map(slug).transpose()?;
        Ok(ProposalSettings {
            repository,
            label: label.clone(),
            top: *top,
        })
    }

    fn repositories(&self) -> Result<Vec<Repository>, ConfigError> {
        let mut repositories: Vec<Repository> = Vec::with_capacity(self.repositories.len());
        for entry in &self.repositories {
            if entry.name.is_empty() || entry.name.contains(char::is_whitespace) {
                return Err(ConfigError::invalid(
                    "repositories.name",
                    "must be a word, such as `owner/name`",
                ));
            }
            if entry.origin.is_empty() {
                return Err(ConfigError::invalid(
                    "repositories.origin",
                    "must be a path or URL",
                ));
            }
            if repositories
                .iter()
                .any(|repository| repository.name == entry.name)
            {
                return Err(ConfigError::invalid(
                    "repositories.name",
                    format!("`{}` occurs twice", entry.name),
                ));
            }
            repositories.push(Repository {
                name: entry.name.clone(),
                origin: entry.origin.clone(),
            });
        }
        Ok(repositories)
    }

    fn budgets(&self) -> Result<BTreeMap<String, Budget>, ConfigError> {
        let budgets = self.agents.iter().map(|(name, wanted)| {
            known_agent("agents", name)?;
            if wanted.turns == Some(0) || wanted.minutes == Some(0) {
                return Err(ConfigError::invalid(
                    format!("agents.{name}"),
                    "a budget must be at least 1",
                ));
            }
            let own = agents::find(name).map_or(
                Budget {
                    turns: 1,
                    time_ms: MINUTE_MS,
                },
                |agent| agent.budget,
            );
            let budget = Budget {
                turns: wanted.turns.unwrap_or(own.turns),
                time_ms: wanted
                    .minutes
                    .map_or(own.time_ms, |minutes| i64::from(minutes) * MINUTE_MS),
            };
            Ok((name.clone(), budget))
        });
        budgets.collect()
    }
}

fn known_agent(key: &str, agent: &str) -> Result<(), ConfigError> {
    match agents::find(agent) {
        Some(_) => Ok(()),
        None => Err(ConfigError::invalid(
            key,
            format!("the agents are: {}", agents::names()),
        )),
    }
}
