//! Crashes of the real server: killed at random moments under load, on disks that fail, fill up, or forget what was not
//! synced. Each time: what was acknowledged is found, nothing is found that was not sent, nothing is unreadable, and
//! seen counts are not below what was accepted some intervals before.
//!
//! `SEENIT_KILLS=200` kills the server 200 times on each sort of disk, whatever the usual number is; `SEENIT_LONG=1`
//! runs many more rounds. A failing round prints its number; seeds are fixed.

mod faults;
mod load;
mod server;
mod soak;

use std::time::Duration;

use load::{Load, Random};
use server::Site;

/// Kills on one sort of disk. Two hundred find what happens once in fifty times.
struct Kills {
    /// In every run.
    usual: u64,
    /// With `SEENIT_LONG`.
    long: u64,
}

const HEALTHY: Kills = Kills { usual: 200, long: 3000 };
/// A disk that forgets what was not synced.
const FORGETFUL: Kills = Kills { usual: 20, long: 300 };
/// A disk whose writes, or syncs, fail: half of the kills each.
const FAILING: Kills = Kills { usual: 10, long: 200 };

impl Kills {
    fn number(&self) -> u64 {
        match std::env::var("SEENIT_KILLS") {
            Ok(kills) => kills.parse().unwrap_or_else(|_| panic!("SEENIT_KILLS={kills} is no number")),
            Err(_) if std::env::var_os("SEENIT_LONG").is_some() => self.long,
            Err(_) => self.usual,
        }
    }
}

#[test]
fn killed_two_hundred_times_nothing_acknowledged_is_lost() {
    let (site, mut load) = (Site::new(), Load::new(2006));
    let mut random = Random(2006);
    for round in 0..HEALTHY.number() {
        let server = site.start(&[]).unwrap_or_else(|why| panic!("round {round}: {why}"));
        load.check(&server, &format!("round {round}, {:?}", server.recovery));
        let moment = Duration::from_millis(random.below(150));
        load.run(server, moment);
    }
    let server = site.start(&[]).expect("it starts");
    load.check_all(&server);
    load.tell("on a healthy disk");
}

#[test]
fn a_power_failure_takes_only_what_was_not_synced() {
    let Some(library) = faults::library() else { return };
    let (site, mut load) = (Site::new(), Load::new(7));
    let mut random = Random(7);
    let undo = site.path("undo");
    std::fs::create_dir(&undo).expect("a folder");
    for round in 0..FORGETFUL.number() {
        let environment = faults::power(&library, &site.data(), &undo);
        let server = site.start(&environment).unwrap_or_else(|why| panic!("round {round}: {why}"));
        load.check(&server, &format!("round {round}, {:?}", server.recovery));
        load.run(server, Duration::from_millis(20 + random.below(300)));
        let undone = faults::undo(&site.data(), &undo);
        load.note(format!("{undone} bytes undone"));
    }
    let server = site.start(&[]).expect("it starts");
    load.check_all(&server);
    load.tell("on a disk that forgets what was not synced");
}

#[test]
fn writes_and_syncs_that_fail_refuse_and_lose_nothing() {
    let Some(library) = faults::library() else { return };
    for (fault, every) in [("FAULTS_WRITE", 37), ("FAULTS_SYNC", 11)] {
        let (site, mut load) = (Site::new(), Load::new(every));
        drop(site.start(&[]).expect("it starts without faults"));
        let switch = site.path("switch");
        let environment = faults::every(&library, &site.data(), &switch, fault, every);
        for round in 0..FAILING.number().div_ceil(2) {
            let server = site.start(&environment).unwrap_or_else(|why| panic!("{fault} {round}: {why}"));
            load.check(&server, &format!("{fault}, round {round}, {:?}", server.recovery));
            std::fs::write(&switch, b"").expect("written");
            load.run_until_refused(server, Duration::from_millis(400));
            let _ = std::fs::remove_file(&switch);
        }
        assert!(load.refused() > 0, "{fault}: no write was refused, so nothing was tested");
        let server = site.start(&[]).expect("it starts");
        load.check_all(&server);
        load.tell(&format!("on a disk that fails, {fault} one in {every}"));
    }
}

#[test]
fn a_full_disk_refuses_writes_answers_reads_and_goes_on_when_there_is_room() {
    let Some(library) = faults::library() else { return };
    let (site, mut load) = (Site::new(), Load::new(99));
    let switch = site.path("switch");
    let environment = faults::space(&library, &site.data(), &switch, 1);
    let server = site.start(&environment).expect("it starts while there is room");
    load.some(&server, 50);
    std::fs::write(&switch, b"").expect("written");
    load.refused_with(&server, 503);
    let (status, body) = server.client().get("/readyz").expect("an answer");
    assert_eq!(status, 503, "{}", String::from_utf8_lossy(&body));
    load.check(&server, "while the disk is full");
    std::fs::remove_file(&switch).expect("removed");
    load.accepted_within(&server, Duration::from_secs(60));
    load.check_all(&server);
}
