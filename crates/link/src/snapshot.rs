//! Snapshots: each site puts all its streams into its own bucket from time to time, and newcomers begin with that.

use std::collections::{BTreeSet, VecDeque};

use seenit_sites::Digest;
use seenit_sites::key::SiteKey;
use seenit_sites::list;
use seenit_sites::message::{Stream, StreamId};
use seenit_sites::number::Sequence;
use seenit_sites::snapshot::{PACK_BYTES, Section, Snapshot, pack_digest, snapshot_digest};

use crate::action::{Action, Millis};
use crate::fetch::Fetching;
use crate::link::Link;
use crate::rows;
use crate::store::{Read, ReadDone, SnapshotPart};

/// The name of the newest snapshot's manifest in a site's bucket.
pub const SNAPSHOT: &str = "snapshot";

/// How often a snapshot is made, unless somebody says otherwise.
const SNAPSHOT_SECS: u64 = 3600;

/// The first one is made so long after the start, or after one that failed.
const FIRST_MILLIS: u64 = 5_000;

/// A snapshot that does not reach what has expired here since is made anew after this time.
const AGAIN_MILLIS: u64 = 30_000;

/// Bytes of one stream in a snapshot, the oldest records first; the rest is asked for.
pub(crate) const STREAM_BYTES_MAX: usize = 64 << 20;

/// How long a snapshot waits until the broker has all that is in it; then streams are left out.
const PUBLISHED_MILLIS: u64 = 20_000;

/// How long a pack may take.
const FETCH_MILLIS: u64 = 20_000;

/// Snapshots, our own and those of others.
#[derive(Default)]
pub(crate) struct Snapshots {
    /// The digest of our newest manifest.
    pub(crate) published: Option<Digest>,
    due: Millis,
    made_at: Millis,
    pub(crate) secs: u64,
    /// What was read for the next one, and when.
    parts: Option<(Vec<SnapshotPart>, Millis)>,
    /// Those of our packs that the bucket has.
    names: BTreeSet<String>,
    /// Those that it may have of an earlier run, or that were to be removed.
    left: BTreeSet<String>,
    /// Sites whose snapshots are wanted.
    wanted: VecDeque<SiteKey>,
    pub(crate) fetching: Option<Fetching>,
    /// Whether our own bucket was looked at: it may have more of us than we remember.
    pub(crate) is_own_seen: bool,
}

impl Snapshots {
    pub(crate) fn new(now: Millis) -> Self {
        Snapshots { due: now.after(FIRST_MILLIS), made_at: now, secs: SNAPSHOT_SECS, ..Snapshots::default() }
    }

    /// Takes the row of own packs.
    pub(crate) fn load(&mut self, value: &[u8]) {
        self.left.extend(String::from_utf8_lossy(value).lines().map(str::to_owned));
    }

    /// A commit failed: what was to be put or got was not.
    pub(crate) fn forget_tentative(&mut self, now: Millis) {
        self.left.append(&mut self.names);
        self.parts = None;
        (self.published, self.fetching, self.is_own_seen) = (None, None, false);
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
        self.fetching.take_if(|fetching| fetching.site == *site);
    }
}

impl Link {
    /// Makes a snapshot when it is due, and fetches those that are wanted, one at a time.
    pub(crate) fn snapshot(&mut self) {
        let now = self.now;
        if now >= self.snapshots.due && self.snapshots.is_own_seen {
            self.snapshots.due = now.after(self.snapshots.secs.saturating_mul(1000));
            self.snapshots.made_at = now;
            self.read(Read::Snapshot { bytes_max: STREAM_BYTES_MAX }, |link, done| match done {
                Some(ReadDone::Snapshot(parts)) => link.snapshots.parts = Some((parts, link.now)),
                _ => link.snapshots.again(link.now),
            });
        }
        self.make_snapshot();
        self.snapshots.fetching.take_if(|one| now.since(one.since) >= FETCH_MILLIS);
        if self.snapshots.fetching.is_none() {
            // Our own is looked at first.
            let wanted = &mut self.snapshots.wanted;
            let next = if self.snapshots.is_own_seen { wanted.pop_front() } else { Some(self.key) };
            next.into_iter().for_each(|site| self.fetch(site));
        }
    }

    /// Makes a snapshot of what was read, as soon as the broker has all of it. What the broker has not is not handed
    /// out in another way: see [`OwnStream`](crate::own::OwnStream). So records are cut, and for sightings, which are
    /// added up, it waits.
    fn make_snapshot(&mut self) {
        let Some((mut parts, since)) = self.snapshots.parts.take() else { return };
        let is_published = |part: &SnapshotPart| {
            part.stream == Stream::Records || part.end.sequence <= self.own_end(&self.id_of(part))
        };
        if !parts.iter().all(is_published) && self.now.since(since) < PUBLISHED_MILLIS {
            self.snapshots.parts = Some((parts, since));
            return;
        }
        parts.retain(is_published);
        self.publish_snapshot(parts);
    }

    fn publish_snapshot(&mut self, parts: Vec<SnapshotPart>) {
        if !self.may_publish() {
            return self.snapshots.again(self.now);
        }
        let mut sections = Vec::new();
        let mut body = Vec::new();
        for mut part in parts {
            self.cut_to_published(&mut part);
            if part.end.sequence > Sequence::START {
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

    fn id_of(&self, part: &SnapshotPart) -> StreamId {
        StreamId { site: self.key, incarnation: part.incarnation, stream: part.stream }
    }

    /// Leaves out records that the broker has not.
    fn cut_to_published(&self, part: &mut SnapshotPart) {
        let end = self.own_end(&self.id_of(part)).max(part.start.sequence);
        if part.stream == Stream::Records && part.end.sequence > end {
            part.items.truncate((end.0 - part.start.sequence.0) as usize);
            part.end = part.start.then_all(&part.items);
        }
    }

    fn packed_part(&mut self, part: &SnapshotPart, body: &mut Vec<u8>) -> Section {
        let id = self.id_of(part);
        let begun = body.len();
        part.items.iter().for_each(|item| list::push(body, item));
        if let Some(one) = self.own.streams.get_mut(&id) {
            one.keep_end(part.end);
        }
        let manifest = self.manifest_for(id.stream);
        let bytes = (body.len() - begun) as u64;
        Section { id, manifest, start: part.start, end: part.end, bytes }
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
}

pub(crate) fn pack_name(digest: &Digest) -> String {
    format!("pack-{digest}")
}
