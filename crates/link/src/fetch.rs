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
use crate::store::{Base, Heard};

/// Bytes of a snapshot that is fetched.
const FETCH_BYTES_MAX: u64 = 512 << 20;

/// Records of a snapshot that the store is given at once.
const RECORDS_AT_ONCE: usize = 500;

/// A snapshot that is being fetched.
pub(crate) struct Fetching {
    pub(crate) snapshot: Snapshot,
    body: Vec<u8>,
    packs: usize,
    pub(crate) since: Millis,
}

impl Link {
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
        let (name, stream) = (self.documents.name_of(&id.site), described(id.stream));
        self.warn(format!("{stream} of {name}: its snapshot contradicts what is held, or cannot be read"));
    }
}
