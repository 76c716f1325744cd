//! Schedule firings, whichever store they are in.

use ars_wire::schedules::{Firing, Outcome};

use super::Fixture;

fn firing(schedule: &str, fired_at: i64) -> Firing {
    Firing {
        schedule: schedule.into(),
        fired_at,
        run_id: Some("r1".into()),
        outcome: Outcome::StoppedSoft,
        detail: None,
    }
}

pub async fn newest_firing_of_each_schedule_is_shown(fixture: Fixture) {
    assert_eq!(fixture.schedules.latest().await.unwrap(), []);
    let mut nightly = firing("nightly", 5);
    nightly.detail = Some("HTTP 500 🦀".into());
    nightly.run_id = None;
    for (firing, retained) in [
        (firing("nightly", 4), 1),
        (nightly.clone(), 2),
        (firing("hourly", 9), 1),
    ] {
        assert_eq!(fixture.schedules.record(&firing).await.unwrap(), retained);
    }
    assert_eq!(
        fixture.schedules.latest().await.unwrap(),
        [firing("hourly", 9), nightly]
    );
}
