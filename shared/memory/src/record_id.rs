//! Record ids: `mem:<scopeKey>:<n>`.
//!
//! An id contains its scope; within the scope the number identifies the record.

/// Starts every id.
const PREFIX: &str = "mem:";

/// Returns the prefix of ids in a scope, up to the number.
pub fn prefix(scope_key: &str) -> String {
    format!("{PREFIX}{scope_key}:")
}

/// Returns the scope key and the number. Accepts only an id's canonical text.
pub fn parse(id: &str) -> Option<(&str, i64)> {
    let (scope_key, digits) = id.strip_prefix(PREFIX)?.rsplit_once(':')?;
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit())
        && (digits == "0" || !digits.starts_with('0'));
    let n = digits
        .parse()
        .ok()
        .filter(|_| is_plain && !scope_key.is_empty())?;
    Some((scope_key, n))
}

/// Returns the number in an id from this scope.
pub(crate) fn number_in(scope_key: &str, id: &str) -> Option<i64> {
    parse(id)
        .filter(|(scope, _)| *scope == scope_key)
        .map(|(_, n)| n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_round_trips_scope_and_number() {
        for (id, scope, n) in [
            ("mem:org:acme:0", "org:acme", 0),
            ("mem:repo:acme/app:120", "repo:acme/app", 120),
            ("mem:x:7", "x", 7),
            ("mem:mem:x:7:8", "mem:x:7", 8),
        ] {
            assert_eq!(parse(id), Some((scope, n)));
            assert_eq!(id, format!("{}{n}", prefix(scope)));
            assert_eq!(
                (number_in(scope, id), number_in("other", id)),
                (Some(n), None)
            );
        }
    }

    #[test]
    fn non_canonical_id_is_rejected() {
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
