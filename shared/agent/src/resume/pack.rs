//! Distributes rows and attachments over requests.

use ars_wire::{
    state::body_limit,
    transcript::{Attachment, Part as Row},
};

use super::{encode::Encoded, row::size};

/// Row bytes per request: the route's body limit less 4 KiB for the rest of the body.
pub(super) const REQUEST_BYTES: usize = body_limit::RECORD - 4096;

/// The body of a `/runs/transcript/write` request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    /// Rows to write with this request.
    pub rows: Vec<Row>,
    /// At most one attachment.
    pub attachments: Vec<Attachment>,
}

/// Returns the requests for a step. Send each after the previous request was acknowledged.
///
/// Attachments precede the rows that refer to them.
pub fn pack(encoded: Encoded) -> Vec<Batch> {
    let alone = |attachment| Batch {
        rows: Vec::new(),
        attachments: vec![attachment],
    };
    let mut batches: Vec<_> = encoded.attachments.into_iter().map(alone).collect();
    let (mut open, mut taken) = (Batch::default(), 0);
    for row in encoded.rows {
        // Plus one for the comma.
        let bytes = size(&row) + 1;
        if !open.rows.is_empty() && taken + bytes > REQUEST_BYTES {
            batches.push(std::mem::take(&mut open));
            taken = 0;
        }
        open.rows.push(row);
        taken += bytes;
    }
    if !open.rows.is_empty() {
        batches.push(open);
    }
    batches
}

#[cfg(test)]
mod tests {
    use ars_types::{Generation, RunId};
    use ars_wire::{ledger::Owner, transcript::WriteRequest};

    use super::*;
    use crate::{Part, Role, Turn, resume::encode};

    fn turn(parts: Vec<Part>) -> Turn {
        Turn {
            role: Role::User,
            parts,
        }
    }

    fn text(length: usize) -> Part {
        Part::text("\n".repeat(length))
    }

    #[test]
    fn requests_fit_the_body_limit_and_are_complete() {
        let image = Part::Image {
            media_type: "image/png".into(),
            data: "A".repeat(1_900_000),
        };
        let turns = [
            turn(vec![text(600_000), text(300_000)]),
            turn(vec![image, text(10), text(690_000)]),
            turn(vec![text(1)]),
        ];
        let encoded = encode(0, &turns, 0).unwrap();
        let batches = pack(encoded.clone());
        let owner = Owner {
            run_id: RunId::parse("r".repeat(64)).unwrap(),
            generation: Generation::parse("g".repeat(128)).unwrap(),
        };
        for batch in &batches {
            let request = WriteRequest {
                owner: &owner,
                rows: &batch.rows,
                attachments: &batch.attachments,
            };
            assert!(size(&request) <= body_limit::RECORD);
            assert!(
                batch.attachments.is_empty()
                    || batch.rows.is_empty() && batch.attachments.len() == 1
            );
        }
        assert!(batches.len() > 2 && !batches[0].attachments.is_empty());
        let rows: Vec<_> = batches.into_iter().flat_map(|batch| batch.rows).collect();
        assert_eq!(rows, encoded.rows);
    }

    #[test]
    fn small_rows_share_a_request() {
        let encoded = encode(0, &[turn(vec![text(1), text(2)]), turn(vec![text(3)])], 0).unwrap();
        let batches = pack(encoded);
        assert_eq!(batches.len(), 1);
        let places: Vec<_> = batches[0]
            .rows
            .iter()
            .map(|row| (row.idx, row.part))
            .collect();
        assert_eq!(places, [(0, 0), (0, 1), (1, 0)]);
        assert!(pack(Encoded::default()).is_empty());
    }
}
