//! Ids of records: `mem:<scopeKey>:<n>` (state-worker supplement section 2.3).
//!
//! A record's scope is read off its id, and within its scope the number is all of it.

/// How every id begins.
const PREFIX: &str = "mem:";

/// What the ids of a scope begin with, up to the number.
pub fn prefix(scope_key: &str) -> String {
    format!("{PREFIX}{scope_key}:")
}

/// The scope key and the number within it. Only the very text that the id was given as is an id.
pub fn parse(id: &str) -> Option<(&str, i64)> {
    let (scope_key, digits) = id.strip_prefix(PREFIX)?.rsplit_once(':')?;
    let is_plain =
        digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    let n = digits.parse().ok().filter(|_| is_plain && !scope_key.is_empty())?;
    Some((scope_key, n))
}

/// The number of an id of this scope.
pub(crate) fn number_in(scope_key: &str, id: &str) -> Option<i64> {
    parse(id).filter(|(scope, _)| *scope == scope_key).map(|(_, n)| n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_gives_back_its_scope_and_number() {
        for (id, scope, n) in [
            ("mem:org:acme:0", "org:acme", 0),
            ("mem:repo:acme/app:120", "repo:acme/app", 120),
            ("mem:x:7", "x", 7),
            ("mem:mem:x:7:8", "mem:x:7", 8),
        ] {
            assert_eq!(parse(id), Some((scope, n)));
            assert_eq!(id, format!("{}{n}", prefix(scope)));
            assert_eq!((number_in(scope, id), number_in("other", id)), (Some(n), None));
        }
    }

    #[test]
    fn what_was_never_given_is_no_id() {
        for id in [
            "",
            "mem:",
            "mem::1",
            "mem:x",
            "mem:x:",
            "x:y:1",
            "MEM:x:1",
            "mem:x:-1",
            "mem:x:+1",
            "mem:x:01",
            "mem:x:1.0",
            "mem:x:1 ",
            "mem:x:99999999999999999999",
        ] {
            assert_eq!(parse(id), None, "{id}");
        }
    }
}
