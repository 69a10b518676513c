//! Own streams: what the journal has that others have not heard yet is published, step by step, each with the root
//! after it. Nothing is published that is not journalled and synced: the journal is all that is looked at.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use seenit_filter::delta::CountGain;
use seenit_sites::Digest;
use seenit_sites::chain::Chain;
use seenit_sites::message::{Message, PAYLOAD_BYTES_MAX, State, Stream};
use seenit_sites::root::Tree;
use seenit_sites::{list, part};

use crate::action::{Action, Kind, Published};
use crate::cells::{self, tree_of};
use crate::journal::{Batch, Journal, JournalError};
use crate::link::Link;
use crate::rows;

/// A link of the chain is journalled so often, so that one in the middle is found without reading all records.
const LINK_EVERY: u64 = 1024;

/// How long after a failure something is published again.
const RETRY_MILLIS: u64 = 500;

/// How long the engine may take to say what came of it; then it is published again. A second copy changes nothing.
const PATIENCE_MILLIS: u64 = 15_000;

/// Before it speaks, a site listens so long whether others know more of it than it does itself.
const LISTEN_MILLIS: u64 = 2_000;

/// The most bytes of gains in one step.
const STEP_BYTES_MAX: usize = 8 << 20;

/// What is being published of one kind.
#[derive(Debug)]
struct UnderWay {
    ticket: u64,
    /// When it was handed over, or when it is tried again.
    since: u64,
    is_failed: bool,
    messages: VecDeque<Vec<u8>>,
    /// What is published when all of them are.
    done: (Stream, u64),
}

/// The tree over own cells of a generation.
pub(crate) struct OwnTree {
    pub(crate) sequence: u64,
    pub(crate) tree: Tree,
}

/// What this site has said.
pub(crate) struct Own {
    /// Whether the network's terms are known.
    pub(crate) is_agreed: bool,
    pub(crate) chain: Option<Chain>,
    /// The last record published; `None` until the engine has told what is there.
    published: Option<u64>,
    /// The last record that somebody else is known to hold.
    pub(crate) confirmed: u64,
    /// What is published of generations.
    seen_published: Option<BTreeMap<u64, u64>>,
    pub(crate) trees: BTreeMap<u64, OwnTree>,
    under_way: [Option<UnderWay>; 2],
    ticket: u64,
    /// Bytes that were published since the start, of records and of seen counts.
    pub(crate) bytes: [u64; 2],
    /// When this life began to listen.
    pub(crate) since: u64,
    /// Something of others was applied since the last beat.
    pub(crate) has_news: bool,
    pub(crate) beat_at: u64,
    /// The holding that the next beat begins with.
    pub(crate) beat_from: usize,
}

impl Own {
    pub(crate) fn new(now: u64) -> Self {
        Own {
            is_agreed: false,
            chain: None,
            published: None,
            confirmed: 0,
            seen_published: None,
            trees: BTreeMap::new(),
            under_way: [None, None],
            ticket: 0,
            bytes: [0, 0],
            since: now,
            has_news: false,
            beat_at: 0,
            beat_from: 0,
        }
    }

    /// A new life: nothing of it is published yet.
    pub(crate) fn begin(&mut self, now: u64) {
        let (published, seen) = (self.published, self.seen_published.take());
        let (ticket, is_agreed, bytes) = (self.ticket, self.is_agreed, self.bytes);
        *self = Own { ticket, is_agreed, bytes, ..Own::new(now) };
        // What the engine holds is known already: of this life nothing.
        (self.published, self.seen_published) = (published.map(|_| 0), seen.map(|_| BTreeMap::new()));
    }

    /// Forgets generations that are too old.
    pub(crate) fn forget_before(&mut self, oldest: u64) {
        self.trees.retain(|generation, _| *generation >= oldest);
        if let Some(seen) = &mut self.seen_published {
            seen.retain(|generation, _| *generation >= oldest);
        }
    }

    /// How many records the engine was told of.
    pub(crate) fn published(&self) -> u64 {
        self.published.unwrap_or(0)
    }
}

impl<J: Journal> Link<J> {
    /// The engine says what it holds last under our name, of one kind; nothing is published before. It says so again
    /// whenever something else is the last than what we thought.
    pub fn resume(&mut self, now: u64, kind: Kind, last: Option<&[u8]>) -> Vec<Action> {
        if !self.begin(now) {
            return std::mem::take(&mut self.out);
        }
        let done = self.take_up(kind, last);
        self.finish(done)
    }

    fn take_up(&mut self, kind: Kind, last: Option<&[u8]>) -> Result<(), JournalError> {
        let place = match kind {
            Kind::Records => 0,
            Kind::Seen => 1,
        };
        self.own.under_way[place] = None;
        let roster = self.papers.roster.as_ref();
        let last = last.zip(roster).and_then(|(bytes, roster)| Message::decode(bytes, roster).ok());
        let head = last.map(|message| *message.head()).filter(|head| *head.site() == self.key);
        if let Some(head) = &head {
            let state = head.state();
            let is_known = self.journal.lives().iter().any(|(one, _)| *one == state.incarnation);
            if !is_known && self.own.is_agreed {
                self.renew("the engine holds messages of a life that is not remembered here")?;
            }
            self.said_by_us(head, true)?;
        }
        // A new life may have begun by that: then nothing of it is published yet.
        let life = self.journal.incarnation();
        let head = head.filter(|head| head.state().incarnation == life);
        match kind {
            Kind::Records => self.own.published = Some(head.map_or(0, |head| head.state().sequence)),
            Kind::Seen => {
                let mut seen = self.own.seen_published.take().unwrap_or_default();
                if let Some(Stream::Seen { generation }) = head.map(|head| head.state().stream) {
                    seen.insert(generation, head.map_or(0, |head| head.state().sequence));
                }
                self.own.seen_published = Some(seen);
            }
        }
        Ok(())
    }

    /// What came of something that was published.
    pub fn published(&mut self, now: u64, ticket: u64, outcome: Published) -> Vec<Action> {
        if !self.begin(now) {
            return std::mem::take(&mut self.out);
        }
        let done = self.settle(ticket, outcome);
        self.finish(done)
    }

    fn settle(&mut self, ticket: u64, outcome: Published) -> Result<(), JournalError> {
        let is_it =
            |one: &Option<UnderWay>| one.as_ref().is_some_and(|one| one.ticket == ticket && !one.is_failed);
        let Some(place) = self.own.under_way.iter().position(is_it) else { return Ok(()) };
        let kind = [Kind::Records, Kind::Seen][place];
        match outcome {
            Published::Fenced { last } => self.take_up(kind, last.as_deref()),
            Published::Failed => {
                if let Some(one) = &mut self.own.under_way[place] {
                    (one.is_failed, one.since) = (true, self.now);
                }
                Ok(())
            }
            Published::Stored => {
                let Some(mut one) = self.own.under_way[place].take() else { return Ok(()) };
                one.messages.pop_front();
                if one.messages.is_empty() {
                    match one.done {
                        (Stream::Records, sequence) => self.own.published = Some(sequence),
                        (Stream::Seen { generation }, sequence) => {
                            let seen = self.own.seen_published.get_or_insert_default();
                            seen.insert(generation, sequence);
                        }
                    }
                    return Ok(());
                }
                self.own.under_way[place] = Some(one);
                self.hand_over(place);
                Ok(())
            }
        }
    }

    /// Hands the first message that is under way to the engine.
    fn hand_over(&mut self, place: usize) {
        self.own.ticket += 1;
        let (ticket, now) = (self.own.ticket, self.now);
        let Some(one) = &mut self.own.under_way[place] else { return };
        (one.ticket, one.since, one.is_failed) = (ticket, now, false);
        if let Some(bytes) = one.messages.front() {
            let (kind, bytes) = ([Kind::Records, Kind::Seen][place], bytes.clone());
            self.out.push(Action::Publish { ticket, kind, bytes });
        }
    }

    /// Whether something new can be published of a kind now.
    fn may_publish(&mut self, place: usize) -> bool {
        let Some(one) = &self.own.under_way[place] else {
            return self.now >= self.own.since + LISTEN_MILLIS;
        };
        let patience = if one.is_failed { RETRY_MILLIS } else { PATIENCE_MILLIS };
        if self.now >= one.since + patience {
            self.hand_over(place);
        }
        false
    }

    fn publish_step(&mut self, place: usize, messages: VecDeque<Vec<u8>>, done: (Stream, u64)) {
        let since = self.now;
        self.own.bytes[place] += messages.iter().map(|message| message.len() as u64).sum::<u64>();
        self.own.under_way[place] = Some(UnderWay { ticket: 0, since, is_failed: false, messages, done });
        self.hand_over(place);
    }

    /// Publishes records that others have not heard of.
    pub(crate) fn publish_records(&mut self) -> Result<(), JournalError> {
        let Some(published) = self.own.published else { return Ok(()) };
        if !self.may_publish(0) {
            return Ok(());
        }
        let life = self.journal.incarnation();
        let end = self.journal.lives().last().map_or(0, |(_, end)| *end);
        let Some(mut chain) = self.own.chain else { return Ok(()) };
        if published >= end {
            return Ok(());
        }
        if chain.records() != published {
            let Some(link) = self.link_at(life, published)? else {
                // They have expired: whoever misses them starts from a snapshot.
                self.own.published = Some(chain.records().max(published));
                return Ok(());
            };
            chain = Chain::resume(published, link);
        }
        let run = self.journal.records(life, published, PAYLOAD_BYTES_MAX)?;
        if run.first != published + 1 || run.records.is_empty() {
            return Ok(());
        }
        let mut payload = Vec::new();
        for record in &run.records {
            if payload.len() + 4 + record.len() > PAYLOAD_BYTES_MAX {
                break;
            }
            list::push(&mut payload, record);
            chain = chain.then(record);
            self.keep_link(life, chain)?;
        }
        if payload.is_empty() {
            return Ok(());
        }
        let sequence = chain.records();
        let message = self.signed(life, Stream::Records, (published, sequence), chain.link(), &payload)?;
        self.own.chain = Some(chain);
        self.publish_step(0, VecDeque::from([message]), (Stream::Records, sequence));
        Ok(())
    }

    /// Publishes what own cells gained.
    pub(crate) fn publish_seen(&mut self) -> Result<(), JournalError> {
        if self.own.seen_published.is_none() || !self.may_publish(1) {
            return Ok(());
        }
        for (generation, sequence) in self.journal.generations() {
            let published = self.own.seen_published.as_ref().and_then(|seen| seen.get(&generation));
            let published = published.copied().unwrap_or(0);
            if sequence > published {
                return self.publish_generation(generation, published);
            }
        }
        Ok(())
    }

    fn publish_generation(&mut self, generation: u64, published: u64) -> Result<(), JournalError> {
        let Some((sequence, root)) = self.own_root(generation)? else { return Ok(()) };
        let gains = self.journal.gains(generation, published, STEP_BYTES_MAX)?;
        let mut body = Vec::new();
        let wanted = (sequence.saturating_sub(published)) as usize;
        gains.iter().take(wanted).for_each(|gain| list::push(&mut body, gain));
        let stream = Stream::Seen { generation };
        let payloads = if gains.len() >= wanted { part::parts(&body) } else { Vec::new() };
        if payloads.is_empty() {
            // Forgotten, or too much to be said at once: beats say where we are, and others ask for pages.
            self.own.seen_published.get_or_insert_default().insert(generation, sequence);
            return Ok(());
        }
        let life = self.journal.incarnation();
        let messages =
            payloads.iter().map(|payload| self.signed(life, stream, (published, sequence), root, payload));
        let messages = messages.collect::<Result<_, _>>()?;
        self.publish_step(1, messages, (stream, sequence));
        Ok(())
    }

    /// A message of ours.
    pub(crate) fn signed(
        &self,
        incarnation: u64,
        stream: Stream,
        (previous, sequence): (u64, u64),
        root: Digest,
        payload: &[u8],
    ) -> Result<Vec<u8>, JournalError> {
        let manifest = match stream {
            Stream::Records => 0,
            Stream::Seen { generation } => {
                self.papers.manifests.holding(generation).map_or(0, |manifest| manifest.number())
            }
        };
        let time_secs = self.now / 1000;
        let state = State { incarnation, stream, sequence, manifest, root, time_secs };
        Message::sign(&self.secret, &self.papers.network, state, previous, payload)
            .map_err(|error| JournalError(error.to_string()))
    }

    /// The root of own cells of a generation, and the sequence it is of.
    pub(crate) fn own_root(&mut self, generation: u64) -> Result<Option<(u64, Digest)>, JournalError> {
        let mut known = self.own.trees.remove(&generation);
        let (journal, mut failed) = (&self.journal, None);
        journal.own_cells(generation, &mut |counts, sequence| {
            let touched = known
                .as_ref()
                .map(|tree| touched_since(journal, generation, tree.sequence, sequence, counts));
            match (touched, &mut known) {
                (Some(Ok(Some(pages))), Some(tree)) => {
                    cells::retouch(&mut tree.tree, counts, pages);
                    tree.sequence = sequence;
                }
                (Some(Err(error)), _) => failed = Some(error),
                _ => known = Some(OwnTree { sequence, tree: tree_of(counts) }),
            }
        })?;
        if let Some(error) = failed {
            return Err(error);
        }
        let found = known.as_ref().map(|tree| (tree.sequence, tree.tree.root()));
        self.own.trees.extend(known.map(|tree| (generation, tree)));
        Ok(found)
    }

    /// The chain of the present life, as far as it is journalled.
    pub(crate) fn begin_chain(&mut self) -> Result<(), JournalError> {
        let (life, end) =
            (self.journal.incarnation(), self.journal.lives().last().map_or(0, |(_, end)| *end));
        self.own.chain = self.link_at(life, end)?.map(|link| Chain::resume(end, link));
        let confirmed = self.journal.row(&rows::confirmed(life))?;
        let confirmed = confirmed.and_then(|row| row.try_into().ok()).map_or(0, u64::from_be_bytes);
        self.own.confirmed = confirmed.min(end);
        Ok(())
    }

    /// The link of an own life's chain at a sequence; `None` where the records before it are gone.
    pub(crate) fn link_at(&mut self, life: u64, sequence: u64) -> Result<Option<Digest>, JournalError> {
        let mut chain = Chain::begin(&self.key, life);
        self.journal.rows(&rows::links(life), &mut |key, value| {
            let at = key.last_chunk::<8>().map(|at| u64::from_be_bytes(*at));
            match (at.filter(|at| *at <= sequence), value.try_into()) {
                (Some(at), Ok(link)) => {
                    chain = Chain::resume(at, Digest(link));
                    true
                }
                _ => false,
            }
        })?;
        while chain.records() < sequence {
            let run = self.journal.records(life, chain.records(), PAYLOAD_BYTES_MAX)?;
            if run.first != chain.records() + 1 || run.records.is_empty() {
                return Ok(None);
            }
            for record in run.records {
                if chain.records() < sequence {
                    chain = chain.then(&record);
                    self.keep_link(life, chain)?;
                }
            }
        }
        Ok(Some(chain.link()))
    }

    fn keep_link(&mut self, life: u64, chain: Chain) -> Result<(), JournalError> {
        if !chain.records().is_multiple_of(LINK_EVERY) {
            return Ok(());
        }
        let row = (rows::link(life, chain.records()), Some(chain.link().0.to_vec()));
        self.journal.commit(Batch { rows: vec![row], heard: Vec::new() })
    }
}

/// The pages that own gains touched between two sequences; `None` where the gains were forgotten.
fn touched_since<J: Journal>(
    journal: &J,
    generation: u64,
    from: u64,
    to: u64,
    like: &crate::journal::Counts,
) -> Result<Option<BTreeSet<u64>>, JournalError> {
    let wanted = to.saturating_sub(from) as usize;
    let gains = if wanted > 0 { journal.gains(generation, from, STEP_BYTES_MAX)? } else { Vec::new() };
    if gains.len() < wanted {
        return Ok(None);
    }
    let mut touched = BTreeSet::new();
    for bytes in gains.iter().take(wanted) {
        let gain = CountGain::open(bytes.as_slice());
        match gain.and_then(|gain| cells::pages_touched(&gain, like)) {
            Ok(pages) => touched.extend(pages),
            Err(_) => return Ok(None),
        }
    }
    Ok(Some(touched))
}
