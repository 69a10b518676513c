//! Connections that use up the descriptors of files.

use std::net::TcpStream;
use std::time::Duration;

use super::peer::{may_open, until};
use crate::common::Folder;
use crate::common::clients::address;
use crate::common::serving::{HTTP_ALONE, Serving, mail};

/// Descriptors that the server may have, at most.
const LIMIT: u32 = 1024;

/// Idle connections to Razor's port, and as many to that of HTTP: each alone would use up all descriptors.
const CONNECTIONS: usize = 1050;

/// Descriptors that connections leave: 256 are the journal's, of which an idle one has some dozens open.
const LEFT: usize = 200;

/// What shells and services start with at worst, and what the server may give itself.
const SOFT: u32 = 512;
const HARD: u32 = 3000;

/// Reports while they are open. All of them are acknowledged.
const REPORTS: u64 = 20;

/// Descriptors that the process has, once that number has stopped changing. Only root may count them: the server lets
/// no other process of its user look into it.
fn in_use(serving: &Serving<'_>) -> Option<usize> {
    let path = format!("/proc/{}/fd", serving.process.0.id());
    let mut last = usize::MAX;
    until("the number of descriptors has settled", || {
        std::thread::sleep(Duration::from_millis(200));
        let now = std::fs::read_dir(&path).map_or(0, Iterator::count);
        std::mem::replace(&mut last, now) == now
    });
    if last == 0 {
        eprintln!("not counted: {path} cannot be read (root can)");
    }
    Some(last).filter(|number| *number > 0)
}

#[test]
fn idle_connections_leave_the_journal_its_descriptors() {
    if !may_open(2 * CONNECTIONS as u64 + 100) {
        return;
    }
    let folder = Folder::new();
    let options = "--pyzor off --dcc off --fuzzy off --razor 127.0.0.1:0";
    let serving = Serving::start_limited(&folder, options, LIMIT, LIMIT);
    let mut idle = Vec::new();
    for target in [address(&serving, "razor"), serving.address()] {
        idle.extend((0..CONNECTIONS).map(|_| TcpStream::connect(target).expect("it listens")));
    }
    // While they are all there: a connection that says nothing for half a minute is closed anyway.
    let most = in_use(&serving);
    assert!(most.is_none_or(|most| most <= LIMIT as usize - LEFT), "{most:?} of {LIMIT} are in use");
    for seed in 0..REPORTS {
        folder.write("spam.eml", mail(seed));
        let ran = serving.run("report spam.eml");
        assert_eq!(ran.code, 0, "report {seed}: {}{}", ran.out, ran.err);
    }
    let stats = serving.run("stats --json").json();
    assert_eq!(stats["records"].as_u64(), Some(REPORTS), "{stats}");
    // Files that the journal opens anew.
    assert_eq!(serving.run("snapshot").code, 0);
    eprintln!("{most:?}, then {:?} of {LIMIT} descriptors are in use", in_use(&serving));
    drop(idle);
    serving.stop();
}

#[test]
fn the_server_gives_itself_all_descriptors_that_it_may_have() {
    if !may_open(HARD.into()) {
        return;
    }
    let folder = Folder::new();
    let serving = Serving::start_limited(&folder, HTTP_ALONE, SOFT, HARD);
    let path = format!("/proc/{}/limits", serving.process.0.id());
    let limits = std::fs::read_to_string(path).expect("anybody may read it");
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files")).expect("a line of it");
    let numbers: Vec<u32> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    assert_eq!(numbers, [HARD, HARD], "soft and hard: {line}");
    serving.stop();
}
