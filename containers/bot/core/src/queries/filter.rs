//! Conditions on listed runs, chosen by the reader. They never widen the reader's permission.

use ars_types::visible_to::Filter;

use super::RunSummary;

/// Conditions on listed runs. An absent condition allows every run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Match exactly this agent.
    pub agent: Option<String>,
    /// Match exactly this channel.
    pub channel: Option<String>,
    /// Match exactly this repository.
    pub repo: Option<String>,
    /// Match exactly this user.
    pub user: Option<String>,
}

impl RunFilter {
    /// Returns whether the run meets all conditions.
    pub fn allows(&self, run: &RunSummary) -> bool {
        let is = |wanted: &Option<String>, own: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| own == Some(wanted))
        };
        is(&self.agent, run.agent.as_deref())
            && is(&self.channel, Some(&run.channel_id))
            && is(&self.repo, run.repo.as_deref())
            && is(&self.user, Some(&run.user_id))
    }

    /// Returns the readable runs that meet the conditions for which the store's list has no field.
    pub(super) fn within(&self, readable: Filter) -> Filter {
        let repo = self
            .repo
            .iter()
            .map(|repo| Filter::ReposIn(vec![repo.clone()]));
        let user = self.user.iter().map(|user| Filter::UserIs(user.clone()));
        let conditions: Vec<Filter> = repo.chain(user).collect();
        match (readable, conditions.is_empty()) {
            (Filter::None, _) => Filter::None,
            (readable, true) => readable,
            (Filter::All, false) => Filter::And(conditions),
            (readable, false) => Filter::And([vec![readable], conditions].concat()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_narrow_the_readable_runs() {
        let by_user = RunFilter {
            user: Some("http:ann".into()),
            ..RunFilter::default()
        };
        let ann = Filter::UserIs("http:ann".into());
        assert_eq!(by_user.within(Filter::None), Filter::None);
        assert_eq!(by_user.within(Filter::All), Filter::And(vec![ann.clone()]));
        let own = Filter::ChannelsIn(vec!["http:ops".into()]);
        assert_eq!(
            by_user.within(own.clone()),
            Filter::And(vec![own.clone(), ann])
        );
        assert_eq!(RunFilter::default().within(own.clone()), own);
    }
}
