//! Snapshots: each site puts all its streams into its own store from time to time, and newcomers begin with that.

use std::collections::{BTreeSet, VecDeque};

use seenit_sites::Digest;
use seenit_sites::beat::StreamId;
use seenit_sites::chain::Chain;
use seenit_sites::key::SiteKey;
use seenit_sites::list;
use seenit_sites::message::Stream;
use seenit_sites::snapshot::{PACK_BYTES, Section, Snapshot, pack_digest, snapshot_digest};

use crate::action::Action;
use crate::cells;
use crate::following::Position;
use crate::journal::{Batch, Heard, Journal, JournalError};
use crate::link::Link;
use crate::rows;

/// The name of the newest manifest in a site's store.
pub const SNAPSHOT: &str = "snapshot";

/// How often a snapshot is taken, unless somebody says otherwise.
const SNAPSHOT_SECS: u64 = 3600;

/// The first one is taken so long after the start.
const FIRST_MILLIS: u64 = 5_000;

/// Bytes of records in a snapshot, the oldest first; the rest is asked for.
const RECORD_BYTES_MAX: usize = 64 << 20;

/// Bytes of a snapshot that is fetched.
const FETCH_BYTES_MAX: u64 = 512 << 20;

/// How long a pack may take.
const FETCH_MILLIS: u64 = 20_000;

/// Records that are handed to the ledger at once.
const RECORDS_AT_ONCE: usize = 500;

/// A snapshot that is being fetched.
struct Fetching {
    snapshot: Snapshot,
    body: Vec<u8>,
    packs: usize,
    since: u64,
}

/// Snapshots, our own and those of others.
pub(crate) struct Packs {
    /// The digest of our newest manifest.
    pub(crate) published: Option<Digest>,
    due: u64,
    secs: u64,
    /// Those of our packs that the store has.
    names: BTreeSet<String>,
    /// Those that it may have of an earlier run, or that were to be removed.
    left: BTreeSet<String>,
    /// Sites whose snapshots are wanted.
    wanted: VecDeque<SiteKey>,
    asked: Option<(SiteKey, u64)>,
    fetching: Option<Fetching>,
    /// Sites that were met since the start.
    met: BTreeSet<SiteKey>,
}

impl Packs {
    pub(crate) fn open<J: Journal>(journal: &J, now: u64) -> Result<Self, JournalError> {
        let names = journal.row(rows::PACKS)?.unwrap_or_default();
        let names = String::from_utf8_lossy(&names).into_owned();
        Ok(Packs {
            published: None,
            due: now + FIRST_MILLIS,
            secs: SNAPSHOT_SECS,
            names: BTreeSet::new(),
            left: names.lines().map(str::to_owned).collect(),
            wanted: VecDeque::new(),
            asked: None,
            fetching: None,
            met: BTreeSet::new(),
        })
    }

    /// A site's snapshot is wanted.
    pub(crate) fn want(&mut self, site: SiteKey) {
        if !self.wanted.contains(&site) {
            self.wanted.push_back(site);
        }
    }
}

impl<J: Journal> Link<J> {
    /// Takes a snapshot every so many seconds.
    pub fn set_snapshot_secs(&mut self, secs: u64) {
        self.packs.secs = secs;
    }

    /// A site was heard: if nothing is held of it, its snapshot is the quickest way to begin.
    pub(crate) fn meet(&mut self, site: SiteKey) {
        let has_any = self.following.iter().any(|(id, one)| id.site == site && one.position.applied > 0);
        if self.packs.met.insert(site) && !has_any {
            self.packs.want(site);
        }
    }

    /// Takes a snapshot when it is due, and fetches those that are wanted, one at a time.
    pub(crate) fn snapshot(&mut self) -> Result<(), JournalError> {
        if self.now >= self.packs.due {
            self.packs.due = self.now + self.packs.secs * 1000;
            self.publish_snapshot()?;
        }
        let is_late = |since: u64| self.now >= since + FETCH_MILLIS;
        if self.packs.fetching.as_ref().is_some_and(|one| is_late(one.since)) {
            self.packs.fetching = None;
        }
        if self.packs.asked.is_some_and(|(_, since)| is_late(since)) {
            self.packs.asked = None;
        }
        if self.packs.fetching.is_none()
            && self.packs.asked.is_none()
            && let Some(site) = self.packs.wanted.pop_front()
        {
            self.packs.asked = Some((site, self.now));
            self.out.push(Action::Get { site, name: SNAPSHOT.into() });
        }
        Ok(())
    }

    fn publish_snapshot(&mut self) -> Result<(), JournalError> {
        let (mut sections, mut body) = (Vec::new(), Vec::new());
        for (life, end) in self.journal.lives() {
            sections.extend(self.pack_records(life, end, &mut body)?);
        }
        let life = self.journal.incarnation();
        for (generation, sequence) in self.journal.generations() {
            if sequence > 0 {
                sections.extend(self.pack_cells(life, generation, &mut body)?);
            }
        }
        if sections.is_empty() {
            return Ok(());
        }
        let packs: Vec<&[u8]> = body.chunks(PACK_BYTES).collect();
        let digests: Vec<Digest> = packs.iter().map(|pack| pack_digest(pack)).collect();
        let snapshot = Snapshot { site: self.key, time_secs: self.now / 1000, sections, packs: digests };
        let manifest = match snapshot.sign(&self.secret, &self.papers.network) {
            Ok(manifest) => manifest,
            Err(error) => {
                self.warn(format!("no snapshot was published: {error}"));
                return Ok(());
            }
        };
        let names: BTreeSet<String> = snapshot.packs.iter().map(pack_name).collect();
        for (digest, pack) in snapshot.packs.iter().zip(packs) {
            let name = pack_name(digest);
            if !self.packs.names.contains(&name) {
                self.out.push(Action::Put { name, bytes: pack.to_vec() });
            }
        }
        self.packs.published = Some(snapshot_digest(&manifest));
        self.out.push(Action::Put { name: SNAPSHOT.into(), bytes: manifest });
        // Nobody says whether they were removed, so that is tried twice.
        let (old, left) = (std::mem::replace(&mut self.packs.names, names), &mut self.packs.left);
        let twice = std::mem::replace(left, old.clone());
        let all: BTreeSet<String> = old.into_iter().chain(twice).chain(self.packs.names.clone()).collect();
        for name in all.difference(&self.packs.names) {
            self.out.push(Action::Remove { name: name.clone() });
        }
        let all = all.into_iter().collect::<Vec<_>>().join("\n");
        let rows = vec![(rows::PACKS.to_vec(), Some(all.into_bytes()))];
        self.journal.commit(Batch { rows, heard: Vec::new() })
    }

    fn pack_records(
        &mut self,
        life: u64,
        end: u64,
        body: &mut Vec<u8>,
    ) -> Result<Option<Section>, JournalError> {
        let begun = body.len();
        let first = self.journal.records(life, 0, 1)?;
        if first.records.is_empty() {
            return Ok(None);
        }
        let start = first.first - 1;
        let Some(start_link) = self.link_at(life, start)? else { return Ok(None) };
        let mut chain = Chain::resume(start, start_link);
        while chain.records() < end && body.len() - begun < RECORD_BYTES_MAX {
            let run = self.journal.records(life, chain.records(), PACK_BYTES)?;
            if run.first != chain.records() + 1 || run.records.is_empty() {
                break;
            }
            for record in run.records {
                list::push(body, &record);
                chain = chain.then(&record);
            }
        }
        let id = StreamId { site: self.key, incarnation: life, stream: Stream::Records };
        let (sequence, root, bytes) = (chain.records(), chain.link(), (body.len() - begun) as u64);
        Ok(Some(Section { id, manifest: 0, start, start_link, sequence, root, bytes }))
    }

    fn pack_cells(
        &mut self,
        life: u64,
        generation: u64,
        body: &mut Vec<u8>,
    ) -> Result<Option<Section>, JournalError> {
        let Some((at, root)) = self.own_root(generation)? else { return Ok(None) };
        let (empty, mut packed) = (self.journal.empty(generation)?, None);
        self.journal.own_cells(generation, &mut |counts, sequence| {
            if sequence == at {
                packed = cells::packed(&empty, counts).ok();
            }
        })?;
        let Some(packed) = packed else { return Ok(None) };
        body.extend_from_slice(&packed);
        let id = StreamId { site: self.key, incarnation: life, stream: Stream::Seen { generation } };
        let manifest = self.papers.manifests.holding(generation).map_or(0, |manifest| manifest.number());
        let start_link = Digest([0; 32]);
        let bytes = packed.len() as u64;
        Ok(Some(Section { id, manifest, start: 0, start_link, sequence: at, root, bytes }))
    }

    /// An object that was asked for, or nothing.
    pub fn object(&mut self, now: u64, site: SiteKey, name: &str, bytes: Option<Vec<u8>>) -> Vec<Action> {
        if !self.begin(now) {
            return std::mem::take(&mut self.out);
        }
        let done = match (name, bytes) {
            (SNAPSHOT, bytes) => {
                self.take_snapshot_manifest(site, bytes);
                Ok(())
            }
            (_, Some(bytes)) => self.take_pack(site, &bytes),
            (_, None) => {
                self.packs.fetching = None;
                Ok(())
            }
        };
        self.finish(done)
    }

    fn take_snapshot_manifest(&mut self, site: SiteKey, bytes: Option<Vec<u8>>) {
        if self.packs.asked.take_if(|(asked, _)| *asked == site).is_none() {
            return;
        }
        let snapshot = bytes.zip(self.papers.roster.as_ref()).and_then(|(bytes, roster)| {
            let snapshot = Snapshot::decode(&bytes, roster).ok()?;
            let size: u64 = snapshot.sections.iter().map(|section| section.bytes).sum();
            (snapshot.site == site && size <= FETCH_BYTES_MAX).then_some(snapshot)
        });
        let Some(snapshot) = snapshot else { return };
        let is_useful = |section: &Section| {
            let applied = self.following.get(&section.id).map_or(0, |one| one.position.applied);
            section.sequence > applied
        };
        if !snapshot.sections.iter().any(is_useful) {
            return;
        }
        let (body, packs, since) = (Vec::new(), 0, self.now);
        self.packs.fetching = Some(Fetching { snapshot, body, packs, since });
        self.fetch_pack();
    }

    fn fetch_pack(&mut self) {
        let Some(fetching) = &mut self.packs.fetching else { return };
        if let Some(digest) = fetching.snapshot.packs.get(fetching.packs) {
            fetching.since = self.now;
            let (site, name) = (fetching.snapshot.site, pack_name(digest));
            self.out.push(Action::Get { site, name });
        }
    }

    fn take_pack(&mut self, site: SiteKey, bytes: &[u8]) -> Result<(), JournalError> {
        let Some(fetching) = &mut self.packs.fetching else { return Ok(()) };
        let expected = fetching.snapshot.packs.get(fetching.packs);
        if fetching.snapshot.site != site || expected != Some(&pack_digest(bytes)) {
            return Ok(());
        }
        fetching.body.extend_from_slice(bytes);
        fetching.packs += 1;
        if fetching.packs < fetching.snapshot.packs.len() {
            self.fetch_pack();
            return Ok(());
        }
        let Some(Fetching { snapshot, body, .. }) = self.packs.fetching.take() else { return Ok(()) };
        let mut rest = body.as_slice();
        for section in &snapshot.sections {
            let Some((bytes, after)) = rest.split_at_checked(section.bytes as usize) else { break };
            rest = after;
            match section.id.stream {
                Stream::Records => self.take_record_section(section, bytes)?,
                Stream::Seen { generation } => self.take_cell_section(section, generation, bytes)?,
            }
        }
        let name = self.papers.name_of(&site);
        self.note(format!("the snapshot of {name} was taken over"));
        Ok(())
    }

    fn take_record_section(&mut self, section: &Section, bytes: &[u8]) -> Result<(), JournalError> {
        let id = section.id;
        if id.site == self.key && id.incarnation == self.journal.incarnation() {
            return Ok(());
        }
        let Some(following) = self.follow(id) else { return Ok(()) };
        let (slot, mut position) = (following.slot, following.position.clone());
        let count = section.sequence.saturating_sub(section.start);
        if bytes.len() > RECORD_BYTES_MAX + 2 * PACK_BYTES || section.sequence <= position.applied {
            return Ok(());
        }
        let Ok(records) = list::items(bytes, count) else { return Ok(()) };
        let (mut whole, mut here) = (Chain::resume(section.start, section.start_link), None);
        for record in &records {
            here = here.or((whole.records() == position.applied).then(|| whole.link()));
            whole = whole.then(record);
        }
        if whole.link() != section.root {
            return Ok(());
        }
        if here.is_some_and(|link| link != position.root) {
            return self.mismatched(&id, "its snapshot does not follow on the records held here").map(|_| ());
        }
        if position.applied < section.start {
            // What lies between has expired at its own site.
            (position.applied, position.root) = (section.start, section.start_link);
        }
        let skipped = (position.applied - section.start) as usize;
        for some in records.get(skipped..).unwrap_or_default().chunks(RECORDS_AT_ONCE) {
            let chain = Chain::resume(position.applied, position.root);
            let chain = some.iter().fold(chain, |chain, record| chain.then(record));
            let records = some.iter().map(|record| record.to_vec()).collect();
            let heard = Heard { slot, incarnation: id.incarnation, first: position.applied + 1, records };
            let (applied, root) = (chain.records(), chain.link());
            position = Position { applied, root, verified: applied, head: None, ..position };
            self.put_position(&id, position.clone(), Batch { heard: vec![heard], rows: Vec::new() })?;
        }
        self.own.has_news = true;
        self.drain(&id)
    }

    fn take_cell_section(
        &mut self,
        section: &Section,
        generation: u64,
        bytes: &[u8],
    ) -> Result<(), JournalError> {
        let id = section.id;
        let is_ours = id.site == self.key && id.incarnation == self.journal.incarnation();
        if is_ours || !self.is_countable(&id, generation, section.manifest) {
            return Ok(());
        }
        let Some(following) = self.follow(id) else { return Ok(()) };
        if section.sequence <= following.position.applied {
            return Ok(());
        }
        let Ok(counts) = cells::unpacked(cells::nothing(&self.journal, generation)?, bytes) else {
            return Ok(());
        };
        if cells::tree_of(&counts).root() != section.root {
            return Ok(());
        }
        self.replace_copy(&id, generation, (&counts, section.sequence), None)?;
        self.drain(&id)
    }
}

fn pack_name(digest: &Digest) -> String {
    format!("pack-{digest}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::{LIFE, NOW, admin, id, link, records, site};

    /// The names that a link puts into its store and removes from it.
    fn stored(actions: Vec<Action>) -> (Vec<String>, Vec<String>) {
        let (mut put, mut removed) = (Vec::new(), Vec::new());
        for action in actions {
            match action {
                Action::Put { name, .. } if name != SNAPSHOT => put.push(name),
                Action::Remove { name } => removed.push(name),
                _ => {}
            }
        }
        (put, removed)
    }

    #[test]
    fn packs_of_an_earlier_run_are_removed() {
        let mut link = link();
        assert!(link.journal_mut().say(b"a record".to_vec()));
        let (first, removed) = stored(link.tick(NOW + FIRST_MILLIS));
        assert_eq!((first.len(), removed.len()), (1, 0));
        let journal = link.into_journal();
        let mut link = Link::open(journal, site(1), admin().public(), NOW).expect("it opens");
        assert!(link.journal_mut().say(b"another record".to_vec()));
        let (second, removed) = stored(link.tick(NOW + FIRST_MILLIS));
        assert_eq!(second.len(), 1);
        assert_eq!(removed, first);
    }

    /// A snapshot of records from the beginning, in one pack.
    fn snapshot(records: &[&[u8]]) -> (Snapshot, Vec<u8>) {
        let id = id(2, Stream::Records);
        let (begin, mut pack) = (Chain::begin(&id.site, LIFE), Vec::new());
        records.iter().for_each(|record| list::push(&mut pack, record));
        let chain = records.iter().fold(begin, |chain, record| chain.then(record));
        let (start_link, sequence, root) = (begin.link(), chain.records(), chain.link());
        let section =
            Section { id, manifest: 0, start: 0, start_link, sequence, root, bytes: pack.len() as u64 };
        let (sections, packs) = (vec![section], vec![pack_digest(&pack)]);
        (Snapshot { site: id.site, time_secs: NOW / 1000, sections, packs }, pack)
    }

    /// What is held after the snapshot was taken over: how many records, and whether they are its site's.
    fn taken(held: &[&[u8]], told: &[&[u8]]) -> (u64, Option<String>) {
        let (mut link, site, id) = (link(), site(2), id(2, Stream::Records));
        link.hear(NOW, &records(2, LIFE, held), None);
        link.packs.want(id.site);
        link.tick(NOW);
        let (snapshot, pack) = snapshot(told);
        let manifest = snapshot.sign(&site, &admin().public()).expect("a snapshot");
        link.object(NOW, id.site, SNAPSHOT, Some(manifest));
        link.object(NOW, id.site, &pack_name(&snapshot.packs[0]), Some(pack));
        let following = &link.following[&id];
        (following.position.applied, following.mismatch.clone())
    }

    #[test]
    fn records_of_a_snapshot_go_on_where_those_held_end() {
        assert_eq!(taken(&[b"one", b"two"], &[b"one", b"two", b"three"]), (3, None));
        assert_eq!(taken(&[b"one", b"two"], &[b"one"]), (2, None), "one that is behind says nothing new");
    }

    #[test]
    fn records_of_a_snapshot_that_do_not_follow_on_those_held_are_refused() {
        let (applied, mismatch) = taken(&[b"one", b"two"], &[b"one", b"other", b"three"]);
        assert_eq!(applied, 2);
        assert!(mismatch.is_some());
    }
}
