//! This process's generation in the ledger: an ISO time without punctuation, a dash, eight hex digits.

use ars_types::Generation;

/// Generates the process's generation.
pub fn mint() -> anyhow::Result<Generation> {
    let mut random = [0; 4];
    getrandom::fill(&mut random)?;
    let stamp = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%S%3fZ");
    Ok(Generation::parse(format!(
        "{stamp}-{}",
        hex::encode(random)
    ))?)
}

#[cfg(test)]
mod tests {
    #[test]
    fn generations_are_told_apart_and_sort_by_time() {
        let (one, other) = (super::mint().unwrap(), super::mint().unwrap());
        assert_ne!(one, other);
        assert_eq!(
            one.as_str().len(),
            "20261121T101112123Z-0123abcd".len(),
            "{one:?}"
        );
    }
}
