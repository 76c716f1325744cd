//! Short run ids: how lists shorten them, and which run they name.

use ars_types::RunId;

use super::super::{call::Call, error::CommandError};
use crate::queries::PageRequest;

/// Characters in a whole id, which is a UUID.
const WHOLE: usize = 36;
/// Minimum characters in a prefix that names a run.
const MIN_PREFIX_CHARS: usize = 4;
/// Minimum characters in a shortened id.
const SHOWN: usize = 8;
/// Newest runs among which a beginning is searched.
const MAX_SEARCHED_RUNS: usize = 200;

/// Returns the id, shortened if it is a whole id.
pub(super) fn shortened(id: &RunId, chars: usize) -> &str {
    let id = id.as_str();
    if id.len() == WHOLE {
        id.get(..chars).unwrap_or(id)
    } else {
        id
    }
}

/// Returns how many characters tell a list's ids apart.
pub(super) fn chars<'a>(ids: impl Iterator<Item = &'a RunId>) -> usize {
    let mut ids: Vec<&str> = ids.map(RunId::as_str).collect();
    ids.sort_unstable();
    ids.dedup();
    let common = |pair: &[&str]| {
        pair[0]
            .bytes()
            .zip(pair[1].bytes())
            .take_while(|(a, b)| a == b)
            .count()
    };
    ids.windows(2)
        .map(common)
        .max()
        .map_or(SHOWN, |common| (common + 1).max(SHOWN))
}

impl Call<'_> {
    /// Returns the run that an id or prefix names, among the newest runs that the caller may read.
    /// An unknown prefix is returned unchanged, so that it gets the answer for an unknown run.
    ///
    /// # Errors
    ///
    /// Several runs begin with it, or the history cannot be read.
    pub(in super::super) async fn run_id(&self, id: RunId) -> Result<RunId, CommandError> {
        let is_beginning = (MIN_PREFIX_CHARS..WHOLE).contains(&id.as_str().len())
            && id
                .as_str()
                .bytes()
                .all(|b| b.is_ascii_hexdigit() || b == b'-');
        if !is_beginning {
            return Ok(id);
        }
        let request = PageRequest {
            active: true,
            finished: true,
            limit: MAX_SEARCHED_RUNS,
            ..PageRequest::default()
        };
        let page = self.queries().list_entries(self.viewer, &request).await;
        if page.store_unavailable {
            let problem = "the history cannot be read, so the beginning of an id may name another run: give all of it";
            return Err(CommandError::unavailable(problem));
        }
        let ids = page.runs.into_iter().map(|run| run.summary.id);
        let mut found: Vec<RunId> = ids
            .filter(|run| run.as_str().starts_with(id.as_str()))
            .collect();
        match found.len() {
            0 => Ok(id),
            1 => Ok(found.remove(0)),
            _ if found.contains(&id) => Ok(id),
            count => Err(CommandError::invalid(format!(
                "id is ambiguous: {count} runs begin with it; give more of its characters"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortened_ids_of_a_list_differ() {
        let ids = |texts: &[&str]| {
            texts
                .iter()
                .map(|text| RunId::parse(*text).unwrap())
                .collect::<Vec<_>>()
        };
        let [one, two] = [
            "4c57a1b2-0000-4000-8000-000000000001",
            "4c57a1b2-0100-4000-8000-000000000001",
        ];
        for (texts, expected) in [
            (&[][..], 8),
            (&[one], 8),
            (&[one, two], 11),
            (&[one, one], 8),
        ] {
            let ids = ids(texts);
            let chars = chars(ids.iter());
            assert_eq!(chars, expected, "{texts:?}");
            assert!(
                ids.iter().all(|id| shortened(id, chars).len() == expected),
                "{texts:?}"
            );
        }
        assert_eq!(
            shortened(&RunId::parse("0199a1b2-whole").unwrap(), 8),
            "0199a1b2-whole"
        );
    }
}
