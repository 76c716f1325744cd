//! Links to messages.

use crate::Ts;

/// Returns the link to a message. `team_url` is from `auth.test`; a reply's link also names its thread.
pub fn permalink(team_url: &str, channel: &str, ts: Ts, thread_ts: Option<Ts>) -> String {
    let team_url = team_url.trim_end_matches('/');
    let digits = ts.to_string().replace('.', "");
    let link = format!("{team_url}/archives/{channel}/p{digits}");
    match thread_ts.filter(|thread_ts| *thread_ts != ts) {
        Some(thread_ts) => format!("{link}?thread_ts={thread_ts}&cid={channel}"),
        None => link,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_of_a_reply_names_its_thread() {
        let ts = Ts::parse("1700000001.000200").unwrap();
        let parent = Ts::parse("1700000000.000100").unwrap();
        let own = "https://a.slack.com/archives/C1/p1700000001000200";
        assert_eq!(permalink("https://a.slack.com/", "C1", ts, None), own);
        assert_eq!(permalink("https://a.slack.com", "C1", ts, Some(ts)), own);
        assert_eq!(
            permalink("https://a.slack.com", "C1", ts, Some(parent)),
            format!("{own}?thread_ts=1700000000.000100&cid=C1")
        );
    }
}
