//! A channel's visibility, stamped on a run once at dispatch.

use ars_types::{Platform, Visibility};

/// Returns a channel's stamp; `looked_up` is the platform's response, if it was asked. It can open
/// a Slack channel and no other. Unresolved channels are unknown, which is never treated as public.
pub fn stamp(channel: &str, looked_up: Option<Visibility>) -> Visibility {
    // Slack names channels without the platform.
    let id = match Platform::split(channel) {
        Some((Platform::Slack, id)) => id,
        Some((platform, _)) => return platform.visibility(),
        None => channel,
    };
    match id.as_bytes() {
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
    fn only_a_lookup_makes_a_channel_public() {
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
            ("github:acme/app", Some(Public), Private),
            ("telegram:C012AB3CD", Some(Public), Unknown),
            ("Desk:1", None, Unknown),
            ("C", Some(Public), Unknown),
            ("", Some(Public), Unknown),
        ] {
            assert_eq!(
                stamp(channel, looked_up),
                stamped,
                "{channel} {looked_up:?}"
            );
        }
    }
}
