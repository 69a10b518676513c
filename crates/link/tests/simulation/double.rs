//! A store in memory that forgets on command: what is committed lasts, what is only counted does not; a process can
//! die at a commit, a commit can fail and be durable all the same, a backup can be put back.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use seenit_filter::sightings::{self, Fingerprint, Sighting};
use seenit_link::rows;
use seenit_link::store::{
    Base, Committed, HeldStream, LinkBatch, Loaded, NetworkTerms, Own, OwnRun, OwnStream, PeerSite, PeerSlot,
    Read, ReadDone, Renewal, SnapshotPart, Store, StoreError,
};
use seenit_sites::Digest;
use seenit_sites::chain::Chain;
use seenit_sites::key::SiteKey;
use seenit_sites::message::{Message, Stream, StreamId};
use seenit_sites::number::{Generation, Incarnation, Sequence};
use seenit_sites::roster::Roster;

/// Generations whose counts are added up.
pub(crate) const LIVE: u64 = 2;

/// One incarnation of the folder.
#[derive(Clone, Default)]
pub(crate) struct Said {
    pub(crate) id: Incarnation,
    pub(crate) items: BTreeMap<Stream, Vec<Vec<u8>>>,
    /// Items at the beginning of a stream that have expired or were added up.
    pub(crate) gone: BTreeMap<Stream, usize>,
}

/// Items of a peer's stream.
#[derive(Clone, Default)]
pub(crate) struct HeldItems {
    pub(crate) base: Option<(Sequence, Vec<Vec<u8>>)>,
    pub(crate) items: BTreeMap<u64, Vec<u8>>,
}

/// What is on disk. A clone of it is a backup.
#[derive(Clone, Default)]
pub(crate) struct Disk {
    pub(crate) terms: Option<NetworkTerms>,
    pub(crate) said: Vec<Said>,
    pub(crate) rows: BTreeMap<Vec<u8>, Vec<u8>>,
    pub(crate) peers: Vec<PeerSite>,
    pub(crate) held: BTreeMap<HeldStream, HeldItems>,
    /// The number of commits, as a mark outside of the journal would keep it.
    pub(crate) commits: u64,
}

/// What happens at the next commits.
#[derive(Clone, Copy, Default)]
pub(crate) struct Fate {
    /// Commits until one fails.
    pub(crate) fails_in: Option<u32>,
    /// Whether the process dies of it.
    pub(crate) is_deadly: bool,
    /// How much of it is durable: nothing, what comes first, all.
    pub(crate) durable: u8,
}

/// The double.
pub(crate) struct Double {
    site: SiteKey,
    pub(crate) disk: RefCell<Disk>,
    pub(crate) fate: RefCell<Fate>,
    pub(crate) is_dead: RefCell<bool>,
    /// Seconds since the Unix epoch, and of a generation.
    pub(crate) clock_secs: u64,
    pub(crate) generation_secs: u64,
    pub(crate) kept_from_secs: u64,
    /// Sightings that are not journalled yet.
    pending: BTreeMap<(Generation, u64), u64>,
}

fn error(why: &str) -> StoreError {
    StoreError::new("committing", why)
}

impl Double {
    pub(crate) fn open(site: SiteKey, mut disk: Disk, clock_secs: u64, generation_secs: u64) -> Self {
        if disk.said.is_empty() {
            disk.said.push(Said { id: Incarnation(clock_secs), ..Said::default() });
        }
        Double {
            site,
            disk: RefCell::new(disk),
            fate: RefCell::default(),
            is_dead: RefCell::new(false),
            clock_secs,
            generation_secs,
            kept_from_secs: 0,
            pending: BTreeMap::new(),
        }
    }

    pub(crate) fn generation(&self) -> Generation {
        Generation(self.clock_secs / self.generation_secs)
    }

    pub(crate) fn oldest(&self) -> Generation {
        Generation((self.generation().0 + 1).saturating_sub(LIVE))
    }

    pub(crate) fn is_dead(&self) -> bool {
        *self.is_dead.borrow()
    }

    /// What becomes of a commit: how much of it is durable, and whether it is reported so.
    fn writes(&self) -> (u8, bool) {
        if self.is_dead() {
            return (0, false);
        }
        let mut fate = self.fate.borrow_mut();
        let Some(left) = &mut fate.fails_in else { return (2, true) };
        *left = left.saturating_sub(1);
        if *left > 0 {
            return (2, true);
        }
        fate.fails_in = None;
        *self.is_dead.borrow_mut() = fate.is_deadly;
        (fate.durable, false)
    }

    /// Appends an own item to the present incarnation; whether that was acknowledged.
    fn append(&self, items: Vec<(Stream, Vec<u8>)>) -> bool {
        let (durable, is_reported) = self.writes();
        if durable == 2 {
            let mut disk = self.disk.borrow_mut();
            disk.commits += 1;
            let said = disk.said.last_mut().expect("there is one");
            for (stream, item) in items {
                said.items.entry(stream).or_default().push(item);
            }
        }
        is_reported
    }

    /// A client's record; whether it was acknowledged.
    pub(crate) fn say(&self, record: Vec<u8>) -> bool {
        self.append(vec![(Stream::Records, record)])
    }

    /// A client's sighting: not durable yet.
    pub(crate) fn see(&mut self, key: u64, recipients: u64) {
        *self.pending.entry((self.generation(), key)).or_default() += recipients;
    }

    /// Journals what was seen. Whether it is durable.
    pub(crate) fn flush(&mut self) -> bool {
        let mut lists: BTreeMap<Generation, Vec<Sighting>> = BTreeMap::new();
        for ((generation, key), increment) in std::mem::take(&mut self.pending) {
            let count = self.own_count(generation, key) + increment;
            let fingerprint = Fingerprint::new(key).expect("a small key");
            lists.entry(generation).or_default().push(Sighting { fingerprint, increment, count });
        }
        if lists.is_empty() {
            return !self.is_dead();
        }
        let item = |(generation, list): (&Generation, &Vec<Sighting>)| {
            (Stream::Sightings { generation: *generation }, sightings::encode(list).expect("a delta"))
        };
        self.append(lists.iter().map(item).collect())
    }

    /// What this site itself saw in a generation: over all incarnations, and what came back from others.
    pub(crate) fn own_count(&self, generation: Generation, key: u64) -> u64 {
        let (disk, stream) = (self.disk.borrow(), Stream::Sightings { generation });
        let own = disk.said.iter().filter_map(|said| said.items.get(&stream)).flatten();
        let slot = disk.peers.iter().find(|peer| peer.site == self.site).map(|peer| peer.slot);
        let back = disk.held.iter().filter(|(held, _)| Some(held.slot) == slot && held.stream == stream);
        let back = back.flat_map(|(_, held)| held.items.values());
        own.chain(back).map(|item| of_key(item, key).map_or(0, |one| one.increment)).sum()
    }

    /// The sum of what peers saw in a generation, each up to its cap, as the design has it.
    pub(crate) fn peer_sum(&self, generation: Generation) -> HashMap<u64, u64> {
        let (disk, stream, mut sum) = (self.disk.borrow(), Stream::Sightings { generation }, HashMap::new());
        for peer in disk.peers.iter().filter(|peer| peer.site != self.site) {
            let cap = peer.caps.seen;
            let held = disk.held.iter().filter(|(held, _)| held.slot == peer.slot && held.stream == stream);
            for (_, held) in held {
                let base = held.base.iter().flat_map(|(_, blocks)| blocks);
                for entry in base.chain(held.items.values()).flat_map(|item| decoded(item)) {
                    let count = sum.entry(entry.fingerprint.get()).or_insert(0u64);
                    let before = entry.count.saturating_sub(entry.increment);
                    *count += entry.count.min(cap) - before.min(cap);
                    *count = (*count).max(entry.count.min(cap));
                }
            }
        }
        sum
    }

    /// The chain of an own stream after so many items, from its beginning.
    pub(crate) fn value_at(&self, incarnation: Incarnation, stream: Stream, at: Sequence) -> Option<Digest> {
        let disk = self.disk.borrow();
        let said = disk.said.iter().find(|said| said.id == incarnation)?;
        let items = said.items.get(&stream).map_or(&[][..], Vec::as_slice).get(..at.0 as usize)?;
        let id = StreamId { site: self.site, incarnation, stream };
        Some(Chain::begin(&id).then_all(items).value)
    }

    /// Items of an own stream expire, or are added up.
    pub(crate) fn expire(&self, stream: Stream, keep: usize) {
        let mut disk = self.disk.borrow_mut();
        let said = disk.said.last_mut().expect("there is one");
        let items = said.items.get(&stream).map_or(0, Vec::len);
        let gone = said.gone.entry(stream).or_default();
        *gone = (*gone).max(items.saturating_sub(keep));
    }

    fn read_own(
        &self,
        incarnation: Incarnation,
        stream: Stream,
        after: Sequence,
        bytes_max: usize,
    ) -> OwnRun {
        let (items, gone) = {
            let disk = self.disk.borrow();
            let said = disk.said.iter().find(|said| said.id == incarnation);
            let items = said.and_then(|said| said.items.get(&stream)).cloned().unwrap_or_default();
            (items, said.and_then(|said| said.gone.get(&stream)).copied().unwrap_or(0))
        };
        let after = Sequence(after.0.max(gone as u64));
        let mut bytes = 0;
        let fits = |item: &&Vec<u8>| {
            bytes += item.len();
            bytes <= bytes_max.max(item.len())
        };
        let run =
            items.get(after.0 as usize..).unwrap_or_default().iter().take_while(fits).cloned().collect();
        OwnRun { after, value: self.value_at(incarnation, stream, after), items: run }
    }

    fn read_snapshot(&self) -> Vec<SnapshotPart> {
        let own = self.own();
        let part = |one: &OwnStream| {
            let run = self.read_own(one.incarnation, one.stream, Sequence::START, usize::MAX);
            let value = self.value_at(one.incarnation, one.stream, one.last)?;
            let end = Chain { sequence: one.last, value };
            let (start, items) = match one.stream {
                Stream::Records => (run.start()?, run.items),
                Stream::Sightings { .. } => {
                    let disk = self.disk.borrow();
                    let said = disk.said.iter().find(|said| said.id == one.incarnation)?;
                    let lists = said.items.get(&one.stream)?.iter().map(|item| decoded(item));
                    let mut all = sightings::add_up(lists);
                    all.iter_mut().for_each(|entry| entry.increment = entry.count);
                    let (incarnation, stream) = (one.incarnation, one.stream);
                    let begin = Chain::begin(&StreamId { site: self.site, incarnation, stream });
                    (begin, sightings::encode_all(&all).expect("blocks"))
                }
            };
            Some(SnapshotPart { incarnation: one.incarnation, stream: one.stream, start, end, items })
        };
        own.streams.iter().filter_map(part).collect()
    }

    fn renew(&self, disk: &mut Disk, renewal: &Renewal) {
        let old = disk.said.last_mut().expect("there is one");
        let mut new = Said { id: Incarnation(self.clock_secs.max(old.id.0 + 1)), ..Said::default() };
        for (stream, items) in &mut old.items {
            let after = match stream {
                Stream::Records => renewal.records_after,
                Stream::Sightings { generation } => {
                    let named = renewal.sightings_after.iter().find(|(one, _)| one == generation);
                    named.map_or(Sequence::START, |(_, after)| *after)
                }
            };
            let again = items.split_off((after.0 as usize).min(items.len()));
            if let Some(gone) = old.gone.get_mut(stream) {
                *gone = (*gone).min(items.len());
            }
            if !again.is_empty() {
                new.items.insert(*stream, again);
            }
        }
        disk.said.push(new);
    }

    fn set_peers(disk: &mut Disk, peers: Vec<PeerSite>) {
        let is_believed = |slot: PeerSlot, site: Option<SiteKey>| {
            peers.iter().any(|peer| peer.slot == slot && site.is_none_or(|site| site == peer.site))
        };
        let old = std::mem::take(&mut disk.peers);
        let site_of = |slot| old.iter().find(|peer| peer.slot == slot).map(|peer| peer.site);
        disk.held.retain(|held, _| is_believed(held.slot, site_of(held.slot)));
        disk.rows.retain(|key, _| match rows::stream_of(key).filter(|_| b"flb".contains(&key[0])) {
            Some((held, _)) => is_believed(held.slot, site_of(held.slot)),
            None => true,
        });
        disk.peers = peers;
    }

    fn take_base(disk: &mut Disk, base: Base) {
        let held = HeldItems { base: Some((base.sequence, base.blocks)), ..HeldItems::default() };
        disk.held.insert(base.stream, held);
        let prefix = rows::messages(&base.stream);
        disk.rows.retain(|key, _| !key.starts_with(&prefix));
    }

    fn write(&self, disk: &mut Disk, batch: LinkBatch) -> Committed {
        for base in batch.bases {
            Self::take_base(disk, base);
        }
        for heard in batch.heard {
            assert!(disk.peers.iter().any(|peer| peer.slot == heard.stream.slot), "of nobody");
            let held = disk.held.entry(heard.stream).or_default();
            let last = held.items.keys().last().copied();
            let last = last.or(held.base.as_ref().map(|(sequence, _)| sequence.0)).unwrap_or(0);
            let own = self.own_last(&disk.said, &disk.peers, &heard.stream);
            let held = disk.held.entry(heard.stream).or_default();
            assert!(heard.after.0 >= last.max(own), "{heard:?} after {last}: an item was handed in twice");
            let count = heard.items.len() as u64;
            for (sequence, item) in (heard.after.0 + 1..).zip(heard.items) {
                held.items.insert(sequence, item);
            }
            if let Some(message) = heard.message {
                disk.rows.insert(rows::message(&heard.stream, Sequence(heard.after.0 + count)), message);
            }
        }
        for stream in batch.forgotten {
            disk.held.remove(&stream);
            let prefix = rows::messages(&stream);
            disk.rows.retain(|key, _| !key.starts_with(&prefix));
        }
        for (stream, sequence) in batch.expired {
            let (prefix, end) = (rows::messages(&stream), rows::message(&stream, sequence));
            disk.rows.retain(|key, _| !key.starts_with(&prefix) || *key > end);
        }
        for (key, value) in batch.rows {
            match value {
                Some(value) => disk.rows.insert(key, value),
                None => disk.rows.remove(&key),
            };
        }
        disk.commits += 1;
        Committed::default()
    }

    /// What is remembered of an own stream that comes back.
    fn own_last(&self, said: &[Said], peers: &[PeerSite], held: &HeldStream) -> u64 {
        let is_own = peers.iter().any(|peer| peer.slot == held.slot && peer.site == self.site);
        let said = said.iter().find(|said| is_own && said.id == held.incarnation);
        said.and_then(|said| said.items.get(&held.stream)).map_or(0, |items| items.len() as u64)
    }
}

/// The entries of a delta.
pub(crate) fn decoded(item: &[u8]) -> Vec<Sighting> {
    sightings::decode(item).expect("a delta")
}

fn of_key(item: &[u8], key: u64) -> Option<Sighting> {
    decoded(item).into_iter().find(|one| one.fingerprint.get() == key)
}

impl Store for Double {
    fn load(&self) -> Result<Loaded, StoreError> {
        let disk = self.disk.borrow();
        let is_state = |(key, _): &(&Vec<u8>, &Vec<u8>)| rows::STATE.contains(&key[0]);
        let rows =
            disk.rows.iter().filter(is_state).map(|(key, value)| (key.clone(), value.clone())).collect();
        drop(disk);
        Ok(Loaded { rows, own: self.own() })
    }

    fn own(&self) -> Own {
        let (disk, oldest) = (self.disk.borrow(), self.oldest());
        let mut streams = Vec::new();
        for said in disk.said.iter().filter(|_| disk.terms.is_some()) {
            for (stream, items) in &said.items {
                let is_live = !matches!(stream, Stream::Sightings { generation } if *generation < oldest);
                if is_live && !items.is_empty() {
                    let last = Sequence(items.len() as u64);
                    streams.push(OwnStream { incarnation: said.id, stream: *stream, last });
                }
            }
        }
        Own {
            incarnation: disk.said.last().map_or(Incarnation(0), |said| said.id),
            generation: self.generation(),
            oldest,
            kept_from_secs: self.kept_from_secs,
            streams,
            alarms: Vec::new(),
        }
    }

    fn commit(&self, mut batch: LinkBatch) -> Result<Committed, StoreError> {
        let (durable, is_reported) = self.writes();
        let mut outcome = Committed::default();
        if durable > 0 {
            let mut disk = self.disk.borrow_mut();
            if let Some(peers) = batch.peers.take() {
                Self::set_peers(&mut disk, peers);
            }
            if let Some(terms) = batch.terms.take() {
                let is_new = disk.terms.as_ref().is_none_or(|held| held.network != terms.network);
                if is_new {
                    let id =
                        Incarnation(self.clock_secs.max(disk.said.last().map_or(0, |said| said.id.0 + 1)));
                    // What was said before stays private.
                    disk.said = vec![Said { id, ..Said::default() }];
                }
                disk.terms = Some(terms);
            }
            if let Some(renewal) = batch.renewal.take() {
                self.renew(&mut disk, &renewal);
            }
            if durable > 1 {
                outcome = self.write(&mut disk, batch);
            }
        }
        if is_reported { Ok(outcome) } else { Err(error("the disk is full")) }
    }

    fn read(&self, read: &Read) -> Result<ReadDone, StoreError> {
        match *read {
            Read::Own { incarnation, stream, after, bytes_max } => {
                Ok(ReadDone::Own(self.read_own(incarnation, stream, after, bytes_max)))
            }
            Read::Held { stream, after, messages_max } => {
                let disk = self.disk.borrow();
                let prefix = rows::messages(&stream);
                let from = rows::message(&stream, after.next());
                let found = disk.rows.range(from..).take_while(|(key, _)| key.starts_with(&prefix));
                Ok(ReadDone::Held(found.take(messages_max).map(|(_, bytes)| bytes.clone()).collect()))
            }
            Read::Snapshot { .. } => Ok(ReadDone::Snapshot(self.read_snapshot())),
        }
    }
}

/// Whether messages that are kept lead on from each other; a gap is where a snapshot was taken over.
pub(crate) fn messages_of(disk: &Disk, stream: &HeldStream, roster: &Roster) -> Vec<(Sequence, Sequence)> {
    let prefix = rows::messages(stream);
    let kept = disk.rows.iter().filter(|(key, _)| key.starts_with(&prefix));
    let ends = kept.filter_map(|(_, bytes)| Message::reread(bytes, roster).ok());
    ends.map(|message| (message.head.previous, message.head.sequence)).collect()
}
