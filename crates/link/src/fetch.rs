//! Snapshots of others, and what our own bucket has of us: fetched pack by pack, checked, and taken over as far as they
//! lead beyond what is held.

use seenit_filter::sightings;
use seenit_sites::chain::Chain;
use seenit_sites::key::SiteKey;
use seenit_sites::list;
use seenit_sites::message::{Stream, StreamId};
use seenit_sites::number::Sequence;
use seenit_sites::snapshot::{PACK_BYTES, Section, Snapshot, pack_digest};

use crate::action::{Action, Millis};
use crate::apply::described;
use crate::link::Link;
use crate::position::Position;
use crate::snapshot::{SNAPSHOT, STREAM_BYTES_MAX, pack_name};
use crate::store::{Base, HeardItems};

/// Bytes of a snapshot that is fetched.
const FETCH_BYTES_MAX: u64 = 512 << 20;

/// Records of a snapshot that the store is given at once.
const RECORDS_AT_ONCE: usize = 500;

/// A snapshot that is being fetched: first its manifest, then its packs, one after the other.
pub(crate) struct Fetching {
    pub(crate) site: SiteKey,
    /// When the last object of it was asked for.
    pub(crate) since: Millis,
    snapshot: Option<Snapshot>,
    packs: usize,
    body: Vec<u8>,
}

impl Link {
    /// Begins to fetch a site's snapshot.
    pub(crate) fn fetch(&mut self, site: SiteKey) {
        let since = self.now;
        let body = Vec::new();
        self.snapshots.fetching = Some(Fetching { site, since, snapshot: None, packs: 0, body });
        self.out.push(Action::Get { site, name: SNAPSHOT.into() });
    }

    /// What came of [`Action::Get`].
    pub fn object(&mut self, now: Millis, site: SiteKey, name: &str, bytes: Option<Vec<u8>>) {
        if !self.begin(now) || !self.is_member() {
            return;
        }
        let Some(mut fetching) = self.snapshots.fetching.take_if(|one| one.site == site) else { return };
        match (&fetching.snapshot, bytes) {
            (None, bytes) if name == SNAPSHOT => {
                self.snapshots.is_own_seen |= site == self.key;
                fetching.snapshot = bytes.and_then(|bytes| self.useful_snapshot(site, &bytes));
                if fetching.snapshot.is_some() {
                    self.fetch_pack(fetching);
                }
            }
            // A pack was removed when a newer snapshot came.
            (Some(_), None) if name != SNAPSHOT => {}
            (Some(snapshot), Some(bytes))
                if snapshot.packs.get(fetching.packs) == Some(&pack_digest(&bytes)) =>
            {
                fetching.body.extend_from_slice(&bytes);
                fetching.packs += 1;
                self.fetch_pack(fetching);
            }
            // Something that was asked for earlier, and came late.
            _ => self.snapshots.fetching = Some(fetching),
        }
    }

    /// A manifest, if the snapshot leads beyond what is held. What our own says of us may be more than we remember.
    fn useful_snapshot(&mut self, site: SiteKey, bytes: &[u8]) -> Option<Snapshot> {
        let snapshot = Snapshot::decode(bytes, self.documents.roster.as_ref()?).ok()?;
        let size: u64 = snapshot.sections.iter().map(|section| section.bytes).sum();
        if snapshot.site != site || size > FETCH_BYTES_MAX {
            return None;
        }
        if site == self.key {
            for section in &snapshot.sections {
                self.said_by_us(section.id, section.end, snapshot.time_secs);
            }
        }
        snapshot.sections.iter().any(|section| self.is_useful(section)).then_some(snapshot)
    }

    /// Whether a section leads beyond what is held. Of our own only records of earlier incarnations can be taken over:
    /// sightings that are added up would count twice what is remembered of them.
    fn is_useful(&self, Section { id, end, .. }: &Section) -> bool {
        let own_last = self.own.streams.get(id).map_or(Sequence::START, |one| one.last);
        let is_taken = id.site != self.key
            || id.stream == Stream::Records
                && id.incarnation < self.own.latest.incarnation
                && end.sequence > own_last;
        is_taken && end.sequence > self.applied(id)
    }

    /// Asks for the next pack, or takes the snapshot over if there is none.
    fn fetch_pack(&mut self, mut fetching: Fetching) {
        let (site, Some(snapshot)) = (fetching.site, &fetching.snapshot) else { return };
        if let Some(digest) = snapshot.packs.get(fetching.packs) {
            self.out.push(Action::Get { site, name: pack_name(digest) });
            fetching.since = self.now;
            self.snapshots.fetching = Some(fetching);
            return;
        }
        let mut rest = fetching.body.as_slice();
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
            following.newest = following.newest.max(Some((section.end.sequence, time_secs)));
        }
        self.apply_waiting(&id);
        self.refresh(&id);
    }

    fn take_records(&mut self, section: &Section, items: &[&[u8]]) {
        let Section { id, start, end, .. } = *section;
        let Some(following) = self.streams.get(&id) else { return };
        let stream = following.held(&id);
        let position = following.position.clone();
        let mut whole = start;
        let mut here = None;
        for item in items {
            here = here.or((whole.sequence == position.at.sequence).then_some(whole));
            whole = whole.then(item);
        }
        if whole != end || here.is_some_and(|here| here != position.at) {
            return self.refused_section(&id);
        }
        // What lies before its start has expired at its own site.
        let mut chain = if position.at.sequence > start.sequence { position.at } else { start };
        let skipped = (chain.sequence.0 - start.sequence.0) as usize;
        for some in items.get(skipped..).unwrap_or_default().chunks(RECORDS_AT_ONCE) {
            let items: Vec<Vec<u8>> = some.iter().map(|item| item.to_vec()).collect();
            let before = chain;
            chain = chain.then_all(&items);
            let message = if id.site == self.key { self.message_of_ours(id, before, &items) } else { None };
            self.batch.heard.push(HeardItems { stream, after: before.sequence, items, message });
        }
        debug_assert_eq!(chain, end, "no item is applied unless the chain over it leads to a signed value");
        self.advance(&id, Position { at: end, head: None, ..position });
    }

    /// What came back to us is signed anew, so that it can be handed on; `None` where it is too large for a message.
    fn message_of_ours(&mut self, id: StreamId, start: Chain, items: &[Vec<u8>]) -> Option<Vec<u8>> {
        let (chain, payload, count) = self.packed(id, start, items);
        if count < items.len() {
            return None;
        }
        self.signed(id, start.sequence, chain, &payload)
    }

    fn take_base(&mut self, section: &Section, blocks: &[&[u8]]) {
        let Section { id, end, .. } = *section;
        let Some(following) = self.streams.get(&id) else { return };
        if blocks.iter().any(|block| sightings::decode(block).is_err()) {
            return self.refused_section(&id);
        }
        let stream = following.held(&id);
        // It takes the place of what the batch has of the stream so far.
        self.batch.leave_out(|one| *one == stream);
        let blocks = blocks.iter().map(|block| block.to_vec()).collect();
        self.batch.bases.push(Base { stream, sequence: end.sequence, blocks });
        self.advance(&id, Position::new(end));
    }

    fn refused_section(&mut self, id: &StreamId) {
        let name = self.documents.name_of(&id.site);
        let stream = described(id.stream);
        self.warn(format!("{stream} of {name}: its snapshot contradicts what is held, or cannot be read"));
    }
}
