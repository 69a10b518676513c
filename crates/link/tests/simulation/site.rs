//! A site of the simulation: what its clients were told, its folder, and the programs that run on it or on a copy.

use std::collections::BTreeMap;

use seenit_link::store::{ReadDone, StoreError};
use seenit_link::{Link, Millis, Ticket};
use seenit_sites::key::SiteSecret;
use seenit_sites::message::Stream;
use seenit_sites::number::{Generation, Incarnation};

use crate::broker::What;
use crate::double::{Disk, Double};

/// What one site's clients were told.
#[derive(Default)]
pub(crate) struct Told {
    /// Records that were acknowledged, and whether the folder was put back to a time before them.
    pub(crate) records: Vec<(Vec<u8>, bool)>,
    /// Sightings that are journalled, by generation and key.
    pub(crate) seen: BTreeMap<(Generation, u64), u64>,
    /// Sightings that are only counted.
    pub(crate) pending: BTreeMap<(Generation, u64), u64>,
    /// Items that have expired, by stream: also where an older copy of the folder does not know that.
    pub(crate) gone: BTreeMap<(Incarnation, Stream), usize>,
    /// Its folder was put back, or a copy of it ran.
    pub(crate) was_disturbed: bool,
}

/// A copy of a folder, and what clients had been told when it was made.
pub(crate) struct Backup {
    pub(crate) disk: Disk,
    pub(crate) records: usize,
    pub(crate) seen: BTreeMap<(Generation, u64), u64>,
}

/// Which faults there are in a run.
#[derive(Clone, Copy)]
pub(crate) struct Faults {
    pub(crate) expire: bool,
    pub(crate) put_back: bool,
    pub(crate) copy: bool,
    pub(crate) broker_forgets: bool,
}

impl Faults {
    pub(crate) const ALL: [Faults; 3] = [
        Faults { expire: false, put_back: true, copy: true, broker_forgets: false },
        Faults { expire: true, put_back: false, copy: false, broker_forgets: true },
        Faults { expire: false, put_back: true, copy: false, broker_forgets: true },
    ];
}

/// One site.
pub(crate) struct SimSite {
    pub(crate) secret: SiteSecret,
    pub(crate) backup: Option<Backup>,
    pub(crate) told: Told,
    pub(crate) is_admitted: bool,
    pub(crate) seen_cap: u64,
    /// How far its clock is off, in milliseconds.
    pub(crate) skew: i64,
}

/// A program that runs.
pub(crate) struct Running {
    pub(crate) link: Link,
    pub(crate) store: Double,
    /// Reads under way: when they are done, and what comes of them.
    pub(crate) reads: Vec<(u64, Ticket, Result<ReadDone, StoreError>)>,
    pub(crate) needs_reload: bool,
}

/// A place for a program: the site's own, or that of a copy of its folder.
pub(crate) struct Process {
    pub(crate) site: usize,
    pub(crate) running: Option<Running>,
    pub(crate) disk: Option<Disk>,
    pub(crate) down_until: Option<u64>,
    /// The broker's last sequence under its name, as it knows it.
    pub(crate) fence: [Option<u64>; 2],
    /// A mark beside the journal says how many commits there were.
    pub(crate) mark: u64,
    pub(crate) inbox: Vec<What>,
}

impl Process {
    pub(crate) fn new(site: usize, disk: Disk) -> Self {
        Process {
            site,
            running: None,
            disk: Some(disk),
            down_until: None,
            fence: [None, None],
            mark: 0,
            inbox: Vec::new(),
        }
    }

    pub(crate) fn is_there(&self) -> bool {
        self.running.is_some() || self.disk.is_some()
    }
}

impl Running {
    pub(crate) fn finish_reads(&mut self, now: Millis, at: u64) {
        let (done, rest): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.reads).into_iter().partition(|(due, _, _)| *due <= at);
        self.reads = rest;
        for (_, ticket, done) in done {
            self.link.read_done(now, ticket, done);
        }
    }
}
