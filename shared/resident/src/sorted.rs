//! Sorts lists that are short or already sorted.
//!
//! The standard library's sorts are compiled for each row type, which takes 4 kB in the resident
//! Worker each.

/// Sorts rows by a key, and keeps the order among equal rows. Fast only for rows that are nearly
/// sorted, or few.
pub(crate) fn sorted_by_key<T, K: Ord>(
    rows: impl IntoIterator<Item = T>,
    key: impl Fn(&T) -> K,
) -> Vec<T> {
    let mut sorted: Vec<T> = Vec::new();
    for row in rows {
        let at = sorted.partition_point(|other| key(other) <= key(&row));
        sorted.insert(at, row);
    }
    sorted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn rows_are_sorted_as_by_the_standard_library(rows in prop::collection::vec((0..6_u8, any::<u8>()), 0..20)) {
            let mut expected = rows.clone();
            expected.sort_by_key(|row| row.0);
            prop_assert_eq!(sorted_by_key(rows, |row| row.0), expected);
        }
    }
}
