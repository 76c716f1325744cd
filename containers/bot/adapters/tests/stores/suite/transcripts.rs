//! Transcripts, whichever store they are in.

use ars_bot_ports::Owned;
use ars_wire::transcript::{Attachment, Part, Transcript};

use super::{Fixture, owner, run};

fn part(idx: u64, part: u64, json: &str) -> Part {
    Part {
        idx,
        part,
        json: json.into(),
    }
}

fn attachment(name: &str, data: &str) -> Attachment {
    Attachment {
        name: name.into(),
        media_type: "image/png".into(),
        data: data.into(),
    }
}

pub async fn only_the_owner_writes(fixture: Fixture) {
    let (old, new) = (owner("r1", "g1"), owner("r1", "g2"));
    let write = async |owner| {
        fixture
            .transcripts
            .write(owner, &[part(0, 0, "{}")], &[])
            .await
            .unwrap()
    };
    assert_eq!(write(&old).await, Owned::UnknownRun);
    fixture.transcripts.set_owner(&old).await.unwrap();
    assert_eq!(write(&new).await, Owned::Fenced);
    assert_eq!(
        fixture.transcripts.read(&run("r1")).await.unwrap(),
        Transcript::default()
    );
    assert_eq!(write(&old).await, Owned::Done(()));
    fixture.transcripts.set_owner(&new).await.unwrap();
    assert_eq!(
        (write(&old).await, write(&new).await),
        (Owned::Fenced, Owned::Done(()))
    );
}

pub async fn parts_are_read_back_in_order(fixture: Fixture) {
    let mine = owner("r1", "g1");
    fixture.transcripts.set_owner(&mine).await.unwrap();
    let rows = [
        part(1, 0, "c"),
        part(0, 1, "not {JSON} \u{0} 🦀"),
        part(0, 0, "a"),
    ];
    let attachments = [attachment("t1p0", "aGk="), attachment("t0p1", "")];
    fixture.transcripts.write(&mine, &rows, &[]).await.unwrap();
    fixture
        .transcripts
        .write(&mine, &[], &attachments)
        .await
        .unwrap();
    let [c, b, a] = rows;
    let [later, earlier] = attachments;
    let read = fixture.transcripts.read(&run("r1")).await.unwrap();
    assert_eq!(
        read,
        Transcript {
            rows: vec![a, b, c],
            attachments: vec![earlier, later]
        }
    );
    assert_eq!(
        fixture.transcripts.read(&run("r2")).await.unwrap(),
        Transcript::default()
    );
}
