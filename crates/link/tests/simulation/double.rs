//! A site's memory that forgets on command: what is committed lasts, what is only counted does not; a crash can come
//! before or after a commit, a disk can lose its end, a backup can be put back.

use std::collections::BTreeMap;

use seenit_filter::cells::{Cells, SplitCells};
use seenit_filter::counting::CountingFilter;
use seenit_filter::delta::{CountGain, Follower};
use seenit_filter::hash::{Hash128, KeyHasher};
use seenit_filter::{HugePages, Layout};
use seenit_link::{Batch, Counts, Frozen, Journal, JournalError, Peer, Run, Terms};

/// Generations whose counts are added up.
pub(crate) const LIVE: u64 = 2;

/// What is on disk. A clone of it is a backup.
#[derive(Clone, Default)]
pub(crate) struct Disk {
    pub(crate) network: Option<[u8; 32]>,
    pub(crate) terms: Vec<Terms>,
    pub(crate) lives: Vec<Life>,
    pub(crate) rows: BTreeMap<Vec<u8>, Vec<u8>>,
    pub(crate) peers: Vec<Peer>,
    /// Records of others: by slot, life and sequence.
    pub(crate) heard: BTreeMap<(u16, u64, u64), Vec<u8>>,
    /// The number of commits, as a mark outside of the journal would keep it.
    pub(crate) commits: u64,
}

/// One life of the folder.
#[derive(Clone, Default)]
pub(crate) struct Life {
    pub(crate) id: u64,
    pub(crate) records: Vec<Vec<u8>>,
    /// Gains by generation.
    pub(crate) gains: BTreeMap<u64, Vec<Vec<u8>>>,
    /// Whether its cells were taken over by the link, generation by generation.
    pub(crate) dropped: Vec<u64>,
}

struct Generation {
    own: Counts,
    journalled: Counts,
    others: Option<Counts>,
}

/// The double.
pub(crate) struct Double {
    pub(crate) disk: Disk,
    generations: BTreeMap<u64, Generation>,
    pub(crate) now: u64,
    /// Commits until the process dies.
    pub(crate) dies_in: Option<u32>,
    pub(crate) is_dead: bool,
    /// Whether the commit at which it dies is written.
    pub(crate) last_is_written: bool,
    /// Times are kept for a new life's name.
    pub(crate) clock: u64,
    /// When the oldest records that are kept were said.
    pub(crate) kept_from: u64,
}

impl Double {
    pub(crate) fn open(disk: Disk, now: u64, clock: u64) -> Self {
        let mut double = Double {
            disk,
            generations: BTreeMap::new(),
            now,
            dies_in: None,
            is_dead: false,
            last_is_written: true,
            clock,
            kept_from: 0,
        };
        if double.disk.lives.is_empty() {
            double.disk.lives.push(Life { id: clock, ..Life::default() });
        }
        double.remember();
        double
    }

    /// Own cells of the present life, from its gains.
    fn remember(&mut self) {
        self.generations.clear();
        let gains = self.life().gains.clone();
        for generation in (self.now + 1).saturating_sub(LIVE)..=self.now {
            self.advance(generation, gains.get(&generation).map_or(&[][..], Vec::as_slice));
        }
    }

    fn advance(&mut self, generation: u64, gains: &[Vec<u8>]) {
        let Ok(empty) = self.empty(generation) else { return };
        let mut follower = Follower::new(empty, 0);
        for bytes in gains {
            follower.apply(&CountGain::open(bytes.as_slice()).expect("a gain")).expect("it follows");
        }
        let own = follower.into_counts();
        let journalled = copy(&own, self.empty(generation).expect("there are terms"));
        self.generations.insert(generation, Generation { own, journalled, others: None });
    }

    /// Time goes on.
    pub(crate) fn set_now(&mut self, now: u64) {
        if now > self.now {
            self.now = now;
            self.generations.retain(|generation, _| generation + LIVE > now);
        }
        for generation in (now + 1).saturating_sub(LIVE)..=now {
            if !self.generations.contains_key(&generation) {
                self.advance(generation, &[]);
            }
        }
    }

    pub(crate) fn life(&self) -> &Life {
        self.disk.lives.last().expect("there is one")
    }

    fn life_mut(&mut self) -> &mut Life {
        self.disk.lives.last_mut().expect("there is one")
    }

    fn written(&mut self) -> Result<(), JournalError> {
        if self.is_dead {
            return Err(JournalError("dead".into()));
        }
        if let Some(left) = &mut self.dies_in {
            *left = left.saturating_sub(1);
            if *left == 0 {
                self.is_dead = true;
                if !self.last_is_written {
                    return Err(JournalError("dead".into()));
                }
            }
        }
        self.disk.commits += 1;
        Ok(())
    }

    /// A client's record; whether it was acknowledged.
    pub(crate) fn say(&mut self, record: Vec<u8>) -> bool {
        if self.written().is_err() {
            return false;
        }
        self.life_mut().records.push(record);
        !self.is_dead
    }

    /// A client's sighting: not durable yet.
    pub(crate) fn see(&mut self, key: u64, recipients: u64) {
        let (now, Some(hash)) = (self.now, self.hash(self.now, key)) else { return };
        if let Some(generation) = self.generations.get_mut(&now) {
            generation.own.insert_weighted(hash, recipients);
        }
    }

    /// Journals what was counted. Whether it is durable.
    pub(crate) fn journal_gains(&mut self) -> bool {
        let mut gains = Vec::new();
        for (&number, generation) in &mut self.generations {
            let known = self.disk.lives.last().and_then(|life| life.gains.get(&number)).map_or(0, Vec::len);
            let gain = CountGain::between(&generation.journalled, &generation.own, known as u64 + 1)
                .expect("it grew");
            let mut changes = 0;
            gain.for_each(&generation.own, |_, _| changes += 1).expect("its own");
            if changes > 0 {
                gains.push((number, gain.bytes().to_vec()));
            }
        }
        if gains.is_empty() {
            return !self.is_dead;
        }
        if self.written().is_err() {
            return false;
        }
        for (number, bytes) in gains {
            let empty = self.empty(number).expect("there are terms");
            self.life_mut().gains.entry(number).or_default().push(bytes);
            let generation = self.generations.get_mut(&number).expect("it is counted in");
            generation.journalled = copy(&generation.own, empty);
        }
        !self.is_dead
    }

    fn terms_of(&self, generation: u64) -> Option<&Terms> {
        self.disk.network?;
        self.disk.terms.iter().rev().find(|terms| terms.first_generation <= generation)
    }

    fn hash(&self, generation: u64, key: u64) -> Option<Hash128> {
        Some(self.terms_of(generation)?.hash_key.sip().hash(&key.to_le_bytes()))
    }

    /// How many saw a key: own and others'.
    pub(crate) fn count(&self, key: u64) -> u64 {
        let of = |(&number, generation): (&u64, &Generation)| {
            let Some(hash) = self.hash(number, key) else { return 0 };
            let others = generation.others.as_ref().map_or(0, |others| others.count(hash).value);
            generation.own.count(hash).value + others
        };
        self.generations.iter().map(of).sum()
    }

    /// The fold of a generation, cell by cell.
    pub(crate) fn fold_cells(&self, generation: u64) -> Vec<(u64, u64)> {
        let mut cells = Vec::new();
        let others = self.generations.get(&generation).and_then(|generation| generation.others.as_ref());
        if let Some(others) = others {
            others.cells().for_each_nonzero(|cell, value| cells.push((cell, value)));
        }
        cells
    }

    /// Own cells of the present life, journalled.
    pub(crate) fn own_values(&self, generation: u64) -> Vec<(u64, u64)> {
        let (mut cells, Ok(empty)) = (Vec::new(), self.empty(generation)) else { return Vec::new() };
        let mut follower = Follower::new(empty, 0);
        for bytes in self.life().gains.get(&generation).into_iter().flatten() {
            follower.apply(&CountGain::open(bytes.as_slice()).expect("a gain")).expect("it follows");
        }
        follower.counts().cells().for_each_nonzero(|cell, value| cells.push((cell, value)));
        cells
    }
}

fn copy(from: &Counts, mut empty: Counts) -> Counts {
    empty.merge(from).expect("of one kind");
    empty
}

impl Journal for Double {
    fn incarnation(&self) -> u64 {
        self.life().id
    }

    fn lives(&self) -> Vec<(u64, u64)> {
        self.disk.lives.iter().map(|life| (life.id, life.records.len() as u64)).collect()
    }

    fn records(&self, incarnation: u64, after: u64, bytes_max: usize) -> Result<Run, JournalError> {
        let life = self.disk.lives.iter().find(|life| life.id == incarnation);
        let records = life.map_or(&[][..], |life| life.records.get(after as usize..).unwrap_or_default());
        let mut bytes = 0;
        let fits = |record: &&Vec<u8>| {
            bytes += record.len();
            bytes <= bytes_max.max(record.len())
        };
        Ok(Run { first: after + 1, records: records.iter().take_while(fits).cloned().collect() })
    }

    fn kept_from(&self) -> u64 {
        self.kept_from
    }

    fn generations(&self) -> Vec<(u64, u64)> {
        let sequence = |number: &u64| self.life().gains.get(number).map_or(0, |gains| gains.len() as u64);
        self.generations.keys().map(|number| (*number, sequence(number))).collect()
    }

    fn gains(&self, generation: u64, after: u64, _: usize) -> Result<Vec<Vec<u8>>, JournalError> {
        let gains = self.life().gains.get(&generation).map_or(&[][..], Vec::as_slice);
        Ok(gains.get(after as usize..).unwrap_or_default().to_vec())
    }

    fn own_cells(&self, generation: u64, look: &mut dyn FnMut(&Counts, u64)) -> Result<(), JournalError> {
        if let Some(found) = self.generations.get(&generation) {
            let sequence = self.life().gains.get(&generation).map_or(0, |gains| gains.len() as u64);
            look(&found.journalled, sequence);
        }
        Ok(())
    }

    fn renew(&mut self, after: u64) -> Result<(), JournalError> {
        self.written()?;
        let id = self.clock.max(self.life().id + 1);
        let records = self.life_mut().records.split_off(after as usize);
        // The new life says all own cells again.
        let generations: Vec<u64> = self.generations.keys().copied().collect();
        self.disk.lives.push(Life { id, records, ..Life::default() });
        for number in generations {
            let empty = self.empty(number)?;
            if let Some(generation) = self.generations.get_mut(&number) {
                generation.journalled = empty;
            }
        }
        let old = self.disk.lives.len() - 2;
        self.disk.lives[old].dropped = self.disk.lives[old].gains.keys().copied().collect();
        Ok(())
    }

    fn frozen(&self) -> Vec<Frozen> {
        let mut frozen = Vec::new();
        let earlier = self.disk.lives.len() - 1;
        for life in &self.disk.lives[..earlier] {
            for (&generation, gains) in &life.gains {
                if generation + LIVE <= self.now || life.dropped.contains(&generation) {
                    continue;
                }
                let Ok(empty) = self.empty(generation) else { continue };
                let mut follower = Follower::new(empty, 0);
                for bytes in gains {
                    follower.apply(&CountGain::open(bytes.as_slice()).expect("a gain")).expect("it follows");
                }
                let (incarnation, sequence) = (life.id, gains.len() as u64);
                frozen.push(Frozen { incarnation, generation, counts: follower.into_counts(), sequence });
            }
        }
        frozen
    }

    fn drop_frozen(&mut self, incarnation: u64, generation: u64) {
        for life in self.disk.lives.iter_mut().filter(|life| life.id == incarnation) {
            life.dropped.push(generation);
        }
    }

    fn row(&self, key: &[u8]) -> Result<Option<Vec<u8>>, JournalError> {
        Ok(self.disk.rows.get(key).cloned())
    }

    fn rows_from(
        &self,
        prefix: &[u8],
        from: &[u8],
        visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), JournalError> {
        for (key, value) in self.disk.rows.range(from.max(prefix).to_vec()..) {
            if !key.starts_with(prefix) || !visit(key, value) {
                break;
            }
        }
        Ok(())
    }

    fn commit(&mut self, batch: Batch) -> Result<(), JournalError> {
        self.written()?;
        for heard in batch.heard {
            for (sequence, record) in (heard.first..).zip(heard.records) {
                let old = self.disk.heard.insert((heard.slot, heard.incarnation, sequence), record);
                assert!(old.is_none(), "a record was handed in twice");
            }
        }
        for (key, value) in batch.rows {
            match value {
                Some(value) => self.disk.rows.insert(key, value),
                None => self.disk.rows.remove(&key),
            };
        }
        if self.is_dead { Err(JournalError("dead".into())) } else { Ok(()) }
    }

    fn set_peers(&mut self, peers: &[Peer]) -> Result<(), JournalError> {
        self.written()?;
        self.disk.peers = peers.to_vec();
        self.disk.heard.retain(|(slot, _, _), _| peers.iter().any(|peer| peer.slot == *slot));
        Ok(())
    }

    fn agree(&mut self, network: [u8; 32], terms: &[Terms]) -> Result<(), JournalError> {
        self.written()?;
        let is_new = self.disk.network != Some(network);
        (self.disk.network, self.disk.terms) = (Some(network), terms.to_vec());
        if is_new {
            let id = self.clock.max(self.life().id + 1);
            // What was said before stays private.
            self.disk.lives = vec![Life { id, ..Life::default() }];
            self.remember();
        }
        Ok(())
    }

    fn now(&self) -> u64 {
        self.now
    }

    fn oldest(&self) -> u64 {
        (self.now + 1).saturating_sub(LIVE)
    }

    fn empty(&self, generation: u64) -> Result<Counts, JournalError> {
        let terms = self.terms_of(generation).ok_or_else(|| JournalError("no terms".into()))?;
        let (layout, geometry) = (terms.geometry.layout().any(), &terms.geometry);
        let cells = SplitCells::zeroed(geometry.split(), layout.bits(), HugePages::Default);
        let cells = cells.map_err(|error| JournalError(error.to_string()))?;
        CountingFilter::new(layout, cells, Some(geometry.promise()), terms.hash_key.fingerprint())
            .map_err(|error| JournalError(error.to_string()))
    }

    fn others_cell(&self, generation: u64, cell: u64) -> u64 {
        let others = self.generations.get(&generation).and_then(|generation| generation.others.as_ref());
        others.map_or(0, |others| others.cells().get(cell))
    }

    fn raise_others(&mut self, generation: u64, gains: &[(u64, u64)]) -> Result<(), JournalError> {
        let empty = self.empty(generation)?;
        if let Some(found) = self.generations.get_mut(&generation) {
            let others = found.others.get_or_insert(empty);
            gains.iter().for_each(|&(cell, by)| others.raise_cell(cell, by));
        }
        Ok(())
    }

    fn put_others(&mut self, generation: u64, counts: Option<Counts>) -> Result<(), JournalError> {
        if let Some(found) = self.generations.get_mut(&generation) {
            found.others = counts;
        }
        Ok(())
    }
}
