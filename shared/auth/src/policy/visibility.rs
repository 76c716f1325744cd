//! Who may see a channel, as stamped on a run once, at dispatch (bot supplement section 7.2).

use ars_types::Visibility;

/// What ids of Slack's channels may stand behind.
const SLACK: &str = "slack:";

/// The stamp of a channel. `looked_up` is what the platform says of it, when it was asked and answered; it can open a
/// Slack channel and nothing else. What is not resolved is unknown, which is never read as public.
pub fn stamp(channel: &str, looked_up: Option<Visibility>) -> Visibility {
    if channel.starts_with("http:") || channel.starts_with("mcp:") {
        return Visibility::Machine;
    }
    match channel.strip_prefix(SLACK).unwrap_or(channel).as_bytes() {
        id if !id.iter().all(u8::is_ascii_alphanumeric) => Visibility::Unknown,
        [b'D', _, ..] => Visibility::Dm,
        [b'G', _, ..] => Visibility::Private,
        [b'C', _, ..] if looked_up == Some(Visibility::Public) => Visibility::Public,
        _ => Visibility::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channels_id_tells_who_may_see_it_and_only_a_lookup_makes_it_public() {
        use Visibility::{Dm, Machine, Private, Public, Unknown};
        for (channel, looked_up, stamped) in [
            ("http:default", None, Machine),
            ("mcp:ops", Some(Public), Machine),
            ("D024BE91L", None, Dm),
            ("D024BE91L", Some(Public), Dm),
            ("G012AC86C", Some(Public), Private),
            ("slack:G012AC86C", None, Private),
            ("C012AB3CD", None, Unknown),
            ("C012AB3CD", Some(Public), Public),
            ("slack:C012AB3CD", Some(Public), Public),
            ("C012AB3CD", Some(Private), Unknown),
            ("C012AB3CD", Some(Unknown), Unknown),
            ("cli:local", Some(Public), Unknown),
            ("Desk:1", None, Unknown),
            ("C", Some(Public), Unknown),
            ("", Some(Public), Unknown),
        ] {
            assert_eq!(stamp(channel, looked_up), stamped, "{channel} {looked_up:?}");
        }
    }
}
