//! Snapshots: each site puts all its streams into its own bucket from time to time, and newcomers begin with that.

use std::collections::{BTreeSet, VecDeque};

use seenit_filter::sightings;
use seenit_sites::Digest;
use seenit_sites::chain::Chain;
use seenit_sites::key::SiteKey;
use seenit_sites::list;
use seenit_sites::message::{Stream, StreamId};
use seenit_sites::number::Sequence;
use seenit_sites::snapshot::{PACK_BYTES, Section, Snapshot, pack_digest, snapshot_digest};

use crate::action::{Action, Millis};
use crate::link::Link;
use crate::position::Position;
use crate::read::{Purpose, Wanted};
use crate::rows;
use crate::store::{Base, Heard, SnapshotPart};

/// The name of the newest snapshot's manifest in a site's bucket.
pub const SNAPSHOT: &str = "snapshot";

/// How often a snapshot is made, unless somebody says otherwise.
const SNAPSHOT_SECS: u64 = 3600;

/// The first one is made so long after the start, or after one that failed.
const FIRST_MILLIS: u64 = 5_000;

/// A snapshot that does not reach what has expired here since is made anew after this time.
const AGAIN_MILLIS: u64 = 30_000;

/// Bytes of one stream in a snapshot, the oldest records first; the rest is asked for.
const STREAM_BYTES_MAX: usize = 64 << 20;

/// Bytes of a snapshot that is fetched.
const FETCH_BYTES_MAX: u64 = 512 << 20;

/// How long a pack may take.
const FETCH_MILLIS: u64 = 20_000;

/// Records of a snapshot that the store is given at once.
const RECORDS_AT_ONCE: usize = 500;

/// A snapshot that is being fetched.
struct Fetching {
    snapshot: Snapshot,
    body: Vec<u8>,
    packs: usize,
    since: Millis,
}

/// Snapshots, our own and those of others.
pub(crate) struct Snapshots {
    /// The digest of our newest manifest.
    pub(crate) published: Option<Digest>,
    due: Millis,
    made_at: Millis,
    pub(crate) secs: u64,
    /// Those of our packs that the bucket has.
    names: BTreeSet<String>,
    /// Those that it may have of an earlier run, or that were to be removed.
    left: BTreeSet<String>,
    /// Sites whose snapshots are wanted.
    wanted: VecDeque<SiteKey>,
    asked: Option<(SiteKey, Millis)>,
    fetching: Option<Fetching>,
    /// Whether our own bucket was looked at: it may have more of us than we remember.
    is_own_seen: bool,
    /// Sites that were met since the start.
    met: BTreeSet<SiteKey>,
}

impl Snapshots {
    pub(crate) fn new(now: Millis) -> Self {
        Snapshots {
            published: None,
            due: now.after(FIRST_MILLIS),
            made_at: now,
            secs: SNAPSHOT_SECS,
            names: BTreeSet::new(),
            left: BTreeSet::new(),
            wanted: VecDeque::new(),
            asked: None,
            fetching: None,
            is_own_seen: false,
            met: BTreeSet::new(),
        }
    }

    /// A new incarnation begins: what the bucket has of the one before is looked at, before it is replaced.
    pub(crate) fn look_at_own(&mut self) {
        self.is_own_seen = false;
    }

    /// Takes the row of own packs.
    pub(crate) fn load(&mut self, value: &[u8]) {
        self.left.extend(String::from_utf8_lossy(value).lines().map(str::to_owned));
    }

    /// A commit failed: what was to be put or got was not.
    pub(crate) fn forget_tentative(&mut self, now: Millis) {
        self.left.append(&mut self.names);
        (self.published, self.asked, self.fetching, self.is_own_seen) = (None, None, None, false);
        self.again(now);
    }

    /// The next snapshot comes soon.
    pub(crate) fn again(&mut self, now: Millis) {
        self.due = now.after(FIRST_MILLIS);
    }

    /// Somebody was told to take what has expired here from our snapshot.
    pub(crate) fn is_needed(&mut self) {
        self.due = self.due.min(self.made_at.after(AGAIN_MILLIS));
    }

    /// A site's snapshot is wanted.
    pub(crate) fn want(&mut self, site: SiteKey) {
        if !self.wanted.contains(&site) {
            self.wanted.push_back(site);
        }
    }

    /// A site was removed.
    pub(crate) fn forget_site(&mut self, site: &SiteKey) {
        self.wanted.retain(|wanted| wanted != site);
        self.asked.take_if(|(asked, _)| asked == site);
        self.fetching.take_if(|fetching| fetching.snapshot.site == *site);
        self.met.remove(site);
    }
}

impl Link {
    /// A site was heard: if nothing is held of it, its snapshot is the quickest way to begin.
    pub(crate) fn meet(&mut self, site: SiteKey) {
        if self.snapshots.met.insert(site) {
            let has_any = self.streams_of(&site).any(|(_, one)| one.applied() > Sequence::START);
            if !has_any {
                self.snapshots.want(site);
            }
        }
    }

    /// Makes a snapshot when it is due, and fetches those that are wanted, one at a time.
    pub(crate) fn snapshot(&mut self) {
        let now = self.now;
        if now >= self.snapshots.due && self.snapshots.is_own_seen {
            (self.snapshots.due, self.snapshots.made_at) =
                (now.after(self.snapshots.secs.saturating_mul(1000)), now);
            self.read(Purpose::Snapshot, Wanted::Snapshot { bytes_max: STREAM_BYTES_MAX });
        }
        let is_late = |since: Millis| now.since(since) >= FETCH_MILLIS;
        self.snapshots.fetching.take_if(|one| is_late(one.since));
        self.snapshots.asked.take_if(|(_, since)| is_late(*since));
        if self.snapshots.fetching.is_none()
            && self.snapshots.asked.is_none()
            && let Some(site) = self.next_wanted()
        {
            self.snapshots.asked = Some((site, now));
            self.out.push(Action::Get { site, name: SNAPSHOT.into() });
        }
    }

    /// Whose snapshot is looked at next: our own first.
    fn next_wanted(&mut self) -> Option<SiteKey> {
        if self.snapshots.is_own_seen {
            return self.snapshots.wanted.pop_front();
        }
        Some(self.key)
    }

    /// All own streams were read.
    pub(crate) fn publish_snapshot(&mut self, parts: Vec<SnapshotPart>) {
        if self.own.fenced.is_some() || !self.own.is_settled {
            return self.snapshots.again(self.now);
        }
        let (mut sections, mut body) = (Vec::new(), Vec::new());
        for mut part in parts {
            self.cut_to_published(&mut part);
            if part.end.0 > Sequence::START {
                sections.push(self.packed_part(&part, &mut body));
            }
        }
        if sections.is_empty() {
            return;
        }
        let packs: Vec<&[u8]> = body.chunks(PACK_BYTES).collect();
        let digests: Vec<Digest> = packs.iter().map(|pack| pack_digest(pack)).collect();
        let snapshot = Snapshot { site: self.key, time_secs: self.now.secs(), sections, packs: digests };
        let manifest = match snapshot.sign(&self.secret, &self.documents.network) {
            Ok(manifest) => manifest,
            Err(error) => return self.warn(format!("no snapshot was published: {error}")),
        };
        for (digest, pack) in snapshot.packs.iter().zip(packs) {
            let name = pack_name(digest);
            if !self.snapshots.names.contains(&name) {
                self.out.push(Action::Put { name, bytes: pack.to_vec() });
            }
        }
        self.snapshots.published = Some(snapshot_digest(&manifest));
        self.out.push(Action::Put { name: SNAPSHOT.into(), bytes: manifest });
        self.remove_packs(snapshot.packs.iter().map(pack_name).collect());
    }

    /// Records that the broker has not are not handed out in another way: see [`OwnStream`](crate::own::OwnStream).
    fn cut_to_published(&self, part: &mut SnapshotPart) {
        let end = self.own_end((part.incarnation, part.stream)).max(part.start.0);
        if part.stream == Stream::Records && part.end.0 > end {
            part.items.truncate((end.0 - part.start.0.0) as usize);
            let chain = Chain::resume(part.start.0, part.start.1);
            let chain = part.items.iter().fold(chain, |chain, item| chain.then(item));
            part.end = (chain.sequence(), chain.value());
        }
    }

    fn packed_part(&mut self, part: &SnapshotPart, body: &mut Vec<u8>) -> Section {
        let begun = body.len();
        part.items.iter().for_each(|item| list::push(body, item));
        let id = StreamId { site: self.key, incarnation: part.incarnation, stream: part.stream };
        let manifest = match part.stream {
            Stream::Records => 0,
            Stream::Sightings { generation } => {
                self.documents.manifests.holding(generation).map_or(0, |manifest| manifest.number())
            }
        };
        if let Some(one) = self.own.streams.get_mut(&(part.incarnation, part.stream)) {
            one.keep_end(part.end.0, part.end.1);
        }
        Section {
            id,
            manifest,
            start: part.start.0,
            start_value: part.start.1,
            sequence: part.end.0,
            value: part.end.1,
            bytes: (body.len() - begun) as u64,
        }
    }

    /// Removes packs that the newest snapshot has not. Nobody says whether they were removed, so that is tried twice.
    fn remove_packs(&mut self, names: BTreeSet<String>) {
        let old = std::mem::replace(&mut self.snapshots.names, names);
        let twice = std::mem::replace(&mut self.snapshots.left, old.clone());
        let all: BTreeSet<String> =
            old.into_iter().chain(twice).chain(self.snapshots.names.iter().cloned()).collect();
        for name in all.difference(&self.snapshots.names) {
            self.out.push(Action::Remove { name: name.clone() });
        }
        let all = all.into_iter().collect::<Vec<_>>().join("\n");
        self.batch.rows.push((rows::PACKS.to_vec(), Some(all.into_bytes())));
    }

    /// What came of [`Action::Get`].
    pub fn object(&mut self, now: Millis, site: SiteKey, name: &str, bytes: Option<Vec<u8>>) {
        if !self.begin(now) || !self.is_member() {
            return;
        }
        match (name, bytes) {
            (SNAPSHOT, bytes) => self.take_manifest(site, bytes),
            (_, Some(bytes)) => self.take_pack(site, &bytes),
            // It was removed when a newer snapshot came.
            (_, None) => {
                self.snapshots.fetching.take_if(|fetching| fetching.snapshot.site == site);
            }
        }
    }

    fn take_manifest(&mut self, site: SiteKey, bytes: Option<Vec<u8>>) {
        if self.snapshots.asked.take_if(|(asked, _)| *asked == site).is_none() {
            return;
        }
        self.snapshots.is_own_seen |= site == self.key;
        let snapshot = bytes.zip(self.documents.roster.as_ref()).and_then(|(bytes, roster)| {
            let snapshot = Snapshot::decode(&bytes, roster).ok()?;
            let size: u64 = snapshot.sections.iter().map(|section| section.bytes).sum();
            (snapshot.site == site && size <= FETCH_BYTES_MAX).then_some(snapshot)
        });
        let Some(snapshot) = snapshot else { return };
        if site == self.key {
            for section in &snapshot.sections {
                let at = Chain::resume(section.sequence, section.value);
                self.said_at((section.id.incarnation, section.id.stream), at, snapshot.time_secs);
            }
        }
        let is_useful = |section: &Section| self.is_useful(section);
        if !snapshot.sections.iter().any(is_useful) {
            return;
        }
        let (body, packs, since) = (Vec::new(), 0, self.now);
        self.snapshots.fetching = Some(Fetching { snapshot, body, packs, since });
        self.fetch_pack();
    }

    /// Whether a section leads beyond what is held. Of our own only records of earlier incarnations can be taken over:
    /// sightings that are added up would count twice what is remembered of them.
    fn is_useful(&self, section: &Section) -> bool {
        let own_id = (section.id.incarnation, section.id.stream);
        let own_last = self.own.streams.get(&own_id).map_or(Sequence::START, |one| one.last);
        let is_ours = section.id.site == self.key;
        let is_taken = !is_ours
            || section.id.stream == Stream::Records
                && own_id.0 < self.own.latest.incarnation
                && section.sequence > own_last;
        is_taken && section.sequence > self.applied(&section.id)
    }

    fn fetch_pack(&mut self) {
        let Some(fetching) = &mut self.snapshots.fetching else { return };
        if let Some(digest) = fetching.snapshot.packs.get(fetching.packs) {
            fetching.since = self.now;
            let (site, name) = (fetching.snapshot.site, pack_name(digest));
            self.out.push(Action::Get { site, name });
        }
    }

    fn take_pack(&mut self, site: SiteKey, bytes: &[u8]) {
        let Some(fetching) = &mut self.snapshots.fetching else { return };
        let expected = fetching.snapshot.packs.get(fetching.packs);
        if fetching.snapshot.site != site || expected != Some(&pack_digest(bytes)) {
            return;
        }
        fetching.body.extend_from_slice(bytes);
        fetching.packs += 1;
        if fetching.packs < fetching.snapshot.packs.len() {
            return self.fetch_pack();
        }
        let Some(Fetching { snapshot, body, .. }) = self.snapshots.fetching.take() else { return };
        let mut rest = body.as_slice();
        for section in &snapshot.sections {
            let Some((bytes, after)) = rest.split_at_checked(section.bytes as usize) else { break };
            rest = after;
            self.take_section(section, bytes);
        }
        let name = self.documents.name_of(&site);
        self.note(format!("the snapshot of {name} was taken over"));
    }

    /// A stream of a snapshot, if it leads beyond what is held.
    fn take_section(&mut self, section: &Section, bytes: &[u8]) {
        let id = section.id;
        if !self.is_useful(section) || bytes.len() > STREAM_BYTES_MAX + 2 * PACK_BYTES {
            return;
        }
        if let Stream::Sightings { generation } = id.stream
            && !self.is_countable(&id.site, generation, section.manifest)
        {
            return;
        }
        if self.follow(id).is_none() {
            // Where it is our own, it is not known yet how far we remember it: it is looked at again.
            self.snapshots.is_own_seen &= id.site != self.key;
            return;
        }
        let Ok(items) = list::all(bytes) else { return };
        match id.stream {
            Stream::Records => self.take_records(section, &items),
            Stream::Sightings { .. } => self.take_base(section, &items),
        }
        let time_secs = self.now.secs();
        if let Some(following) = self.streams.get_mut(&id) {
            // The signed manifest says that its site is so far.
            following.newest = following.newest.max(Some((section.sequence, time_secs)));
        }
        self.apply_waiting(&id);
        self.refresh(&id);
    }

    fn take_records(&mut self, section: &Section, items: &[&[u8]]) {
        let id = section.id;
        let Some(following) = self.streams.get(&id) else { return };
        let (stream, mut position) = (self.held(&id, following), following.position.clone());
        let (mut whole, mut here) = (Chain::resume(section.start, section.start_value), None);
        for item in items {
            here = here.or((whole.sequence() == position.applied).then(|| whole.value()));
            whole = whole.then(item);
        }
        let is_ours = here.is_none_or(|value| value == position.value);
        if whole.value() != section.value || whole.sequence() != section.sequence || !is_ours {
            return self.refused_section(&id);
        }
        // What lies before its start has expired at its own site.
        position.applied = position.applied.max(section.start);
        let skipped = (position.applied.0 - section.start.0) as usize;
        let mut chain = Chain::resume(position.applied, position.value);
        if section.start == position.applied {
            chain = Chain::resume(section.start, section.start_value);
        }
        for some in items.get(skipped..).unwrap_or_default().chunks(RECORDS_AT_ONCE) {
            let items: Vec<Vec<u8>> = some.iter().map(|item| item.to_vec()).collect();
            let (after, start) = (chain.sequence(), chain);
            chain = items.iter().fold(chain, |chain, item| chain.then(item));
            let message = if id.site == self.key { self.message_of_ours(&id, start, &items) } else { None };
            self.batch.heard.push(Heard { stream, after, items, message });
        }
        (position.applied, position.value, position.head) = (whole.sequence(), whole.value(), None);
        self.advance(&id, position);
    }

    /// What came back to us is signed anew, so that it can be handed on; `None` where it is too large for a message.
    fn message_of_ours(&mut self, id: &StreamId, start: Chain, items: &[Vec<u8>]) -> Option<Vec<u8>> {
        let own_id = (id.incarnation, id.stream);
        let (chain, payload, count) = self.packed(own_id, start, items);
        if count < items.len() {
            return None;
        }
        self.signed(own_id, start.sequence(), chain, &payload)
    }

    fn take_base(&mut self, section: &Section, blocks: &[&[u8]]) {
        let id = section.id;
        let Some(following) = self.streams.get(&id) else { return };
        if blocks.iter().any(|block| sightings::decode(block).is_err()) {
            return self.refused_section(&id);
        }
        let stream = self.held(&id, following);
        // It takes the place of what the batch has of the stream so far.
        self.batch.heard.retain(|heard| heard.stream != stream);
        self.batch.bases.retain(|base| base.stream != stream);
        let blocks = blocks.iter().map(|block| block.to_vec()).collect();
        self.batch.bases.push(Base { stream, sequence: section.sequence, blocks });
        let mut position = Position::begin(section.value);
        position.applied = section.sequence;
        self.advance(&id, position);
    }

    fn refused_section(&mut self, id: &StreamId) {
        let (name, stream) = (self.documents.name_of(&id.site), crate::apply::described(id.stream));
        self.warn(format!("{stream} of {name}: its snapshot contradicts what is held, or cannot be read"));
    }
}

fn pack_name(digest: &Digest) -> String {
    format!("pack-{digest}")
}
