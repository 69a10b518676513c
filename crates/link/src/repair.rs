//! Repair: what was missed is asked for, first of its own site, then of others; records run by run, cells page by
//! page. Whatever is answered must lead to a root that its site signed.

use std::collections::{BTreeSet, VecDeque};

use seenit_filter::delta::Applied;
use seenit_sites::ask::{Answer, Ask, PAGES_ASKED_MAX};
use seenit_sites::beat::StreamId;
use seenit_sites::key::SiteKey;
use seenit_sites::message::{HEAD_BYTES, Head, Stream};
use seenit_sites::root::{BRANCH_PAGES, Branch, Path, decode_cells};

use crate::action::Action;
use crate::answer::Patience;
use crate::apply::described;
use crate::cells::{self, Copied, Held};
use crate::following::Position;
use crate::journal::{Journal, JournalError};
use crate::link::Link;

/// How long something may be missing before it is asked for: mostly it is on its way.
const GAP_MILLIS: u64 = 1_500;

/// How long an ask waits for its answer; twice as long after each that was in vain.
const ASK_MILLIS: u64 = 1_000;

/// The longest wait.
const ASK_MILLIS_MAX: u64 = 30_000;

/// A repair of cells that nothing came of for so long makes room for another.
const IDLE_MILLIS: u64 = 20_000;

/// One that takes so long does so, too, if another waits: a site whose cells are never what it signed would keep the
/// place for good.
const TURN_MILLIS: u64 = 600_000;

/// Asks that one tick sends: somebody who missed much must not flood those who help.
const ASKS_MAX: usize = 8;

/// How often a copy is compared with what its site signed.
const AUDIT_MILLIS: u64 = 2_000;

/// That reads all of it: after a large copy, others wait until so many of its bytes have had a second each. Ten million
/// bytes, read in two seconds, are twenty seconds' audits.
const AUDIT_BYTES_A_SECOND: u64 = 512 << 10;

/// A repair of cells that is under way.
struct Session {
    held: Held,
    /// Pages whose branch has not been compared yet, by the first of each.
    branches: VecDeque<u64>,
    /// Pages that differ.
    wanted: BTreeSet<u64>,
    /// The newest signed head that pages were taken under.
    newest: Option<(Head, Vec<u8>)>,
    /// Rounds: a site that goes on counting is never hit at once.
    rounds: u32,
    /// When it began, and when an answer last brought it further.
    begun_at: u64,
    moved_at: u64,
}

/// What is being repaired.
#[derive(Default)]
pub(crate) struct Repairs {
    session: Option<Session>,
    /// Own streams of which somebody claims to hold more.
    pub(crate) doubts: BTreeSet<StreamId>,
    /// No copy is compared before, and the one that was last.
    audit_due: u64,
    audited: Option<StreamId>,
    /// What we may still hand on.
    pub(crate) patience: Patience,
}

impl Repairs {
    pub(crate) fn forget(&mut self, site: &SiteKey) {
        if self.session.as_ref().is_some_and(|session| session.held.id.site == *site) {
            self.session = None;
        }
        self.doubts.retain(|id| id.site != *site);
    }
}

impl<J: Journal> Link<J> {
    /// Asks for what is missing.
    pub(crate) fn repair(&mut self) -> Result<(), JournalError> {
        for id in std::mem::take(&mut self.repairs.doubts) {
            self.ask_about_ourselves(id);
        }
        let (now, mut asks) = (self.now, 0);
        let ids: Vec<StreamId> = self.following.keys().copied().collect();
        for id in ids {
            let most = self.most_held(&id);
            let Some(following) = self.following.get_mut(&id) else { continue };
            let is_behind = following.is_behind() || most > following.position.applied;
            if !is_behind {
                following.missing_since = None;
                continue;
            }
            let since = *following.missing_since.get_or_insert(now);
            let patience = (ASK_MILLIS << following.attempts.min(5)).min(ASK_MILLIS_MAX);
            let is_due = following.asked.is_none_or(|asked| now >= asked + patience);
            let is_on_its_way = now < since + GAP_MILLIS && !following.is_urgent;
            if is_on_its_way || !is_due || asks == ASKS_MAX {
                continue;
            }
            asks += 1;
            (following.asked, following.attempts) = (Some(now), following.attempts.saturating_add(1));
            following.is_urgent = false;
            let attempts = following.attempts;
            self.ask(&id, attempts)?;
        }
        Ok(())
    }

    /// The farthest that any neighbour claims to be with a stream.
    pub(crate) fn most_held(&self, id: &StreamId) -> u64 {
        self.neighbours.values().filter_map(|one| one.holdings.get(id)).max().copied().unwrap_or(0)
    }

    fn ask(&mut self, id: &StreamId, attempts: u32) -> Result<(), JournalError> {
        let Some(to) = self.whom_to_ask(id, attempts) else { return Ok(()) };
        let after = self.following.get(id).map_or(0, |following| following.position.applied);
        let ask = match id.stream {
            Stream::Records => Some(Ask::Records { id: *id, after }),
            Stream::Seen { generation } => self.ask_for_cells(id, generation)?,
        };
        if let Some(ask) = ask {
            self.out.push(Action::Ask { to, bytes: ask.encode() });
        }
        Ok(())
    }

    /// Its own site first; then those who hold more of it than we do, in turn.
    fn whom_to_ask(&self, id: &StreamId, attempts: u32) -> Option<SiteKey> {
        let applied = self.following.get(id).map_or(0, |following| following.position.applied);
        let is_present = self.neighbours.get(&id.site).is_some_and(|one| one.incarnation == id.incarnation);
        if id.site != self.key && is_present && attempts % 2 == 1 {
            return Some(id.site);
        }
        let has_more = |site: &&SiteKey| {
            **site != self.key
                && self
                    .neighbours
                    .get(*site)
                    .and_then(|one| one.holdings.get(id))
                    .is_some_and(|held| *held >= applied)
        };
        let others: Vec<&SiteKey> = self.neighbours.keys().filter(has_more).collect();
        let place = (attempts as usize / 2).checked_rem(others.len());
        let other = place.and_then(|place| others.get(place)).map(|site| **site);
        other.or((id.site != self.key).then_some(id.site))
    }

    /// Somebody holds more of our present life than we remember: whoever it is shows it.
    fn ask_about_ourselves(&mut self, id: StreamId) {
        let after = match id.stream {
            Stream::Records => self.own.confirmed,
            Stream::Seen { .. } => 0,
        };
        let holds = |(site, one): (&SiteKey, &crate::life::Neighbour)| {
            one.holdings.get(&id).map(|held| (*held, *site))
        };
        let Some((_, to)) = self.neighbours.iter().filter_map(holds).max() else { return };
        let ask = match id.stream {
            Stream::Records => Ask::Records { id, after },
            Stream::Seen { .. } => Ask::Leaves { id, page: 0 },
        };
        self.out.push(Action::Ask { to, bytes: ask.encode() });
    }

    /// The next question of a repair of cells, which begins with it where none is under way.
    fn ask_for_cells(&mut self, id: &StreamId, generation: u64) -> Result<Option<Ask>, JournalError> {
        if self.repairs.session.as_ref().is_none_or(|session| session.held.id != *id) {
            let is_under_way = |session: &Session| {
                self.following.contains_key(&session.held.id)
                    && self.now < session.moved_at + IDLE_MILLIS
                    && self.now < session.begun_at + TURN_MILLIS
            };
            if self.repairs.session.as_ref().is_some_and(is_under_way) {
                // One at a time: each is a whole copy in memory.
                return Ok(None);
            }
            self.begin_session(id, generation)?;
        }
        let Some(session) = &self.repairs.session else { return Ok(None) };
        let id = *id;
        if !session.wanted.is_empty() {
            let pages = session.wanted.iter().take(PAGES_ASKED_MAX).copied().collect();
            return Ok(Some(Ask::Pages { id, pages }));
        }
        match session.branches.front() {
            Some(&page) => Ok(Some(Ask::Leaves { id, page })),
            None => self.finish_session(generation).map(|()| None),
        }
    }

    fn begin_session(&mut self, id: &StreamId, generation: u64) -> Result<(), JournalError> {
        self.held = None;
        let (Some(following), Some(roster)) = (self.following.get(id), self.papers.roster.as_ref()) else {
            return Ok(());
        };
        let at = (generation, &following.position);
        let counts = match cells::read_some(&self.journal, roster, (following.slot, id), at) {
            Ok((counts, _)) => counts,
            Err(_) => cells::nothing(&self.journal, generation)?,
        };
        // As if nothing were known: every page gets a stamp, from us where it is right and from others where not.
        let held = Held::new(*id, counts, 0);
        let branches = (0..held.pages()).step_by(BRANCH_PAGES as usize).collect();
        let (wanted, newest, begun_at) = (BTreeSet::new(), None, self.now);
        let session = Session { held, branches, wanted, newest, rounds: 0, begun_at, moved_at: begun_at };
        self.repairs.session = Some(session);
        Ok(())
    }

    pub(crate) fn hear_answer(&mut self, answer: Answer) -> Result<(), JournalError> {
        match answer {
            Answer::Message(bytes) => {
                self.heard_of_ourselves(bytes.get(..HEAD_BYTES).unwrap_or_default())?;
                self.hear_message(&bytes)?;
                self.ask_on(&bytes)
            }
            Answer::Expired { id, first } => {
                let is_behind = |one: &crate::following::Following| one.position.applied + 1 < first;
                if self.following.get(&id).is_some_and(is_behind) {
                    self.packs.want(id.site);
                }
                Ok(())
            }
            Answer::Leaves { head, branch } => self.take_leaves(&head, &branch),
            Answer::Pages { head, pages } => self.take_pages(&head, &pages),
        }
    }

    /// After an answer the next question follows at once.
    fn ask_on(&mut self, message: &[u8]) -> Result<(), JournalError> {
        let Some(roster) = self.papers.roster.as_ref() else { return Ok(()) };
        let head = message.get(..HEAD_BYTES);
        let Some(Ok(head)) = head.map(|head| Head::decode(head, roster)) else { return Ok(()) };
        self.go_on(&StreamId::of(&head));
        Ok(())
    }

    /// An answer came: the next question need not wait.
    fn go_on(&mut self, id: &StreamId) {
        let most = self.most_held(id);
        if let Some(following) = self.following.get_mut(id)
            && (following.is_behind() || most > following.position.applied)
        {
            following.asked = None;
            following.attempts = following.attempts.saturating_sub(1);
            following.is_urgent = true;
        }
    }

    /// The signed head of an answer, if it is of the cells that are being repaired and not behind what is held.
    fn head_of_session(&self, bytes: &[u8]) -> Option<Head> {
        let head = Head::decode(bytes, self.papers.roster.as_ref()?).ok()?;
        let session = self.repairs.session.as_ref()?;
        let following = self.following.get(&session.held.id)?;
        let is_new = head.state().sequence > following.position.applied
            || following.mismatch.is_some() && head.state().sequence == following.position.applied;
        (StreamId::of(&head) == session.held.id && is_new).then_some(head)
    }

    fn take_leaves(&mut self, bytes: &[u8], branch: &Branch) -> Result<(), JournalError> {
        self.heard_of_ourselves(bytes)?;
        let Some(head) = self.head_of_session(bytes) else { return Ok(()) };
        let Some(session) = &mut self.repairs.session else { return Ok(()) };
        if branch.pages() != session.held.pages() || !branch.leads_to(&head.state().root) {
            return Ok(());
        }
        let stamp = head.state().sequence;
        for (page, leaf) in (branch.first()..).zip(branch.leaves()) {
            if session.held.tree().leaf(page) == Some(leaf) {
                session.wanted.remove(&page);
                session.held.follower.stamp_page(page, stamp);
            } else if session.held.follower.stamp(page).is_some_and(|held| held < stamp) {
                session.wanted.insert(page);
            }
        }
        session.branches.retain(|first| *first != branch.first());
        note_head(session, head, bytes);
        self.session_goes_on()
    }

    fn take_pages(&mut self, bytes: &[u8], pages: &[(Path, Vec<u8>)]) -> Result<(), JournalError> {
        let Some(head) = self.head_of_session(bytes) else { return Ok(()) };
        let Some(session) = &mut self.repairs.session else { return Ok(()) };
        for (path, page) in pages {
            let is_right = path.pages() == session.held.pages() && path.leads_to(&head.state().root, page);
            let cells = cells::cells_of(session.held.follower.counts(), path.page());
            if let (true, Ok(values)) = (is_right, decode_cells(page, (cells.end - cells.start) as usize)) {
                let installed =
                    session.held.follower.install_page(path.page(), &values, head.state().sequence);
                if matches!(installed, Ok(Applied::Now)) {
                    session.held.touch(path.page());
                }
                session.wanted.remove(&path.page());
            }
        }
        note_head(session, head, bytes);
        self.session_goes_on()
    }

    fn session_goes_on(&mut self) -> Result<(), JournalError> {
        let Some(session) = &mut self.repairs.session else { return Ok(()) };
        session.moved_at = self.now;
        let id = session.held.id;
        if session.branches.is_empty() && session.wanted.is_empty() {
            let Stream::Seen { generation } = id.stream else { return Ok(()) };
            self.finish_session(generation)?;
        }
        self.go_on(&id);
        Ok(())
    }

    /// All pages are there, each as it was at its stamp: with the gains that came meanwhile they are brought to one
    /// state, and that is compared with what the site signed.
    fn finish_session(&mut self, generation: u64) -> Result<(), JournalError> {
        let Some(mut session) = self.repairs.session.take() else { return Ok(()) };
        let Some(roster) = self.papers.roster.as_ref() else { return Ok(()) };
        let id = session.held.id;
        let Some(following) = self.following.get(&id) else { return Ok(()) };
        session.held.follower.catch_up();
        let mut steps: Vec<_> = following.waiting.values().filter(|step| step.is_whole()).cloned().collect();
        steps.sort_by_key(|step| (step.head.state().sequence, step.head.previous()));
        for step in steps {
            let applied = session.held.follower.applied();
            let follows = step.head.previous() <= applied && step.head.state().sequence > applied;
            let applied = follows.then(|| cells::apply_step(&mut session.held.follower, &step, roster));
            if let (Some(Ok(())), Some(Some(bytes))) = (applied, step.parts.first()) {
                let bytes = bytes.get(..HEAD_BYTES).unwrap_or_default();
                note_head(&mut session, step.head, bytes);
            }
        }
        let at = session.held.follower.applied();
        let newest = session.newest.clone().filter(|(head, _)| head.state().sequence == at);
        let counts = session.held.follower.counts();
        match newest {
            Some((head, bytes)) if cells::tree_of(counts).root() == head.state().root => {
                let counts = session.held.follower.into_counts();
                self.repaired(&id, generation, (&counts, at), bytes)
            }
            _ => {
                // Pages are of several states, and what lies between is not here: once more, from what there is.
                /// Rounds after which all is forgotten and begun anew.
                const ROUNDS_MAX: u32 = 8;
                if session.rounds < ROUNDS_MAX {
                    session.rounds += 1;
                    let counts = session.held.follower.into_counts();
                    session.held = Held::new(id, counts, 0);
                    let pages = session.held.pages();
                    session.branches = (0..pages).step_by(BRANCH_PAGES as usize).collect();
                    session.newest = None;
                    self.repairs.session = Some(session);
                }
                Ok(())
            }
        }
    }

    fn repaired(
        &mut self,
        id: &StreamId,
        generation: u64,
        (counts, sequence): (&Copied, u64),
        head: Vec<u8>,
    ) -> Result<(), JournalError> {
        self.replace_copy(id, generation, (counts, sequence), Some(head))?;
        let name = self.papers.name_of(&id.site);
        let (mut cause, mut repairs) = (None, 0);
        if let Some(following) = self.following.get_mut(id) {
            cause = following.mismatch.take();
            following.repairs += 1;
            repairs = following.repairs;
            (following.asked, following.attempts, following.missing_since) = (None, 0, None);
        }
        let cause = cause.unwrap_or_else(|| "messages were missed".into());
        let stream = described(id.stream);
        self.note(format!(
            "{stream} of {name} were repaired up to {sequence} ({cause}; {repairs} since the start)"
        ));
        self.drain(id)
    }

    /// Makes these cells all that is kept of a stream.
    pub(crate) fn put_base(
        &mut self,
        id: &StreamId,
        generation: u64,
        counts: &Copied,
        sequence: u64,
        head: Option<Vec<u8>>,
    ) -> Result<(), JournalError> {
        let Some(following) = self.following.get(id) else { return Ok(()) };
        let nothing = cells::nothing(&self.journal, generation)?;
        let packed = cells::packed(&nothing, counts).map_err(JournalError)?;
        let batch = cells::base_rows(&self.journal, (following.slot, id), &packed)?;
        let root = cells::tree_of(counts).root();
        let position = Position {
            applied: sequence,
            root,
            verified: if head.is_some() { sequence } else { 0 },
            head,
            base: sequence,
            base_bytes: packed.len() as u64,
            log_bytes: 0,
        };
        if self.held.as_ref().is_some_and(|held| held.id == *id) {
            self.held = None;
        }
        self.put_position(id, position, batch)
    }

    /// Compares a copy with what its site signed, one at a time.
    pub(crate) fn audit(&mut self) -> Result<(), JournalError> {
        if self.now < self.repairs.audit_due {
            return Ok(());
        }
        let is_due = |(id, following): &(&StreamId, &crate::following::Following)| {
            let at = following.position.applied;
            let newest = following.newest.as_ref().map(|(head, _)| head.state().sequence);
            matches!(id.stream, Stream::Seen { .. })
                && following.position.verified < at
                && newest == Some(at)
                && following.mismatch.is_none()
        };
        // In turn: those that count all the time are always due.
        let mut due = self.following.iter().filter(is_due);
        let next = due.clone().find(|(id, _)| Some(**id) > self.repairs.audited).or_else(|| due.next());
        let Some((&id, following)) = next else { return Ok(()) };
        self.repairs.audited = Some(id);
        let bytes = following.position.base_bytes + following.position.log_bytes;
        self.repairs.audit_due = self.now + AUDIT_MILLIS.max(bytes * 1000 / AUDIT_BYTES_A_SECOND);
        self.hold(&id)?;
        let root = self.held.as_mut().map(|held| held.tree().root());
        let Some(following) = self.following.get(&id) else { return Ok(()) };
        let newest = following.newest.clone();
        let is_signed = |(_, bytes): &(Head, Vec<u8>)| {
            self.papers.roster.as_ref().is_some_and(|roster| Head::decode(bytes, roster).is_ok())
        };
        // It came in a beat, and is a proof for others only by its own signature.
        let Some((head, bytes)) = newest.filter(is_signed) else { return Ok(()) };
        if root != Some(head.state().root) {
            self.mismatched(&id, "its pages have another root than the one it signed")?;
            return Ok(());
        }
        let (verified, root) = (head.state().sequence, head.state().root);
        let position = Position { verified, root, head: Some(bytes), ..following.position.clone() };
        self.put_position(&id, position, crate::journal::Batch::default())
    }

    /// Gathers the messages of a copy into chunks where there are many.
    pub(crate) fn gather(&mut self) -> Result<(), JournalError> {
        let is_due = |(id, following): &(&StreamId, &crate::following::Following)| {
            let position = &following.position;
            matches!(id.stream, Stream::Seen { .. })
                && position.log_bytes > position.base_bytes.max(cells::LOG_BYTES_MIN)
                && following.mismatch.is_none()
        };
        let Some(id) = self.following.iter().find(is_due).map(|(id, _)| *id) else { return Ok(()) };
        let Stream::Seen { generation } = id.stream else { return Ok(()) };
        self.hold(&id)?;
        let Some(held) = self.held.take() else { return Ok(()) };
        let Some(following) = self.following.get(&id) else { return Ok(()) };
        let before = following.position.clone();
        let at = held.follower.applied();
        if at != before.applied {
            return Ok(());
        }
        let nothing = cells::nothing(&self.journal, generation)?;
        let packed = cells::packed(&nothing, held.follower.counts()).map_err(JournalError)?;
        let batch = cells::base_rows(&self.journal, (following.slot, &id), &packed)?;
        let position = Position { base: at, base_bytes: packed.len() as u64, log_bytes: 0, ..before };
        self.put_position(&id, position, batch)?;
        self.held = Some(held);
        Ok(())
    }

    /// Somebody answered with a head of our own: perhaps of something that we do not remember.
    fn heard_of_ourselves(&mut self, bytes: &[u8]) -> Result<(), JournalError> {
        let Some(roster) = self.papers.roster.as_ref() else { return Ok(()) };
        match Head::decode(bytes, roster) {
            Ok(head) if *head.site() == self.key => self.said_by_us(&head, true),
            _ => Ok(()),
        }
    }
}

fn note_head(session: &mut Session, head: Head, bytes: &[u8]) {
    let sequence = head.state().sequence;
    if session.newest.as_ref().is_none_or(|(newest, _)| newest.state().sequence <= sequence) {
        session.newest = Some((head, bytes.to_vec()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::{GENERATION, NOW, SEEN, beat, gain, holding, id, link, signed};

    /// Peers that count all the time are all compared, and not only the first of them.
    #[test]
    fn copies_are_audited_in_turn() {
        let mut link = link();
        let mut peers = [2, 3].map(|seed| (seed, link.journal.empty(GENERATION).expect("terms")));
        let mut verified = [0, 0];
        for sequence in 1..=10 {
            let now = NOW + sequence * AUDIT_MILLIS;
            for (seed, counts) in &mut peers {
                let mut grown = link.journal.empty(GENERATION).expect("terms");
                grown.merge(counts).expect("of one kind");
                grown.raise_cell(sequence, 1);
                link.hear(now, &gain(*seed, counts, &grown, sequence), None);
                *counts = grown;
            }
            link.tick(now);
            verified = [2, 3].map(|seed| link.following[&id(seed, SEEN)].position.verified);
        }
        assert!(verified.iter().all(|verified| *verified >= 9), "{verified:?}");
    }

    /// A member that claims to hold more of another's cells than there is begins a repair that nobody can end.
    #[test]
    fn a_repair_that_nothing_comes_of_does_not_keep_others_waiting_for_good() {
        let mut link = link();
        let empty = link.journal.empty(GENERATION).expect("terms");
        let mut one = link.journal.empty(GENERATION).expect("terms");
        one.raise_cell(1, 1);
        let mut two = link.journal.empty(GENERATION).expect("terms");
        two.raise_cell(1, 2);
        link.hear(NOW, &gain(2, &empty, &one, 1), None);
        let mut claim = beat(3, NOW / 1000);
        claim.holdings = vec![holding(id(2, SEEN), 1000)];
        link.hear(NOW, &signed(3, &claim), None);
        let of =
            |link: &Link<crate::unit::Double>| link.repairs.session.as_ref().map(|session| session.held.id);
        for millis in (0..5000).step_by(500) {
            link.tick(NOW + millis);
        }
        assert_eq!(of(&link), Some(id(2, SEEN)));
        // Something is really missing of another site.
        link.hear(NOW + 5000, &gain(3, &one, &two, 2), None);
        let has_turn = (5000..120_000).step_by(500).any(|millis| {
            link.tick(NOW + millis);
            of(&link) == Some(id(3, SEEN))
        });
        assert!(has_turn);
        // And where something comes of it all the time, but never the end.
        let since = link.now;
        let session = |link: &mut Link<crate::unit::Double>| {
            let id = link.repairs.session.as_mut().map(|session| {
                session.moved_at = since + 2 * TURN_MILLIS;
                session.held.id
            });
            id.expect("one is under way")
        };
        let ends_at = (0..2 * TURN_MILLIS).step_by(5000).find(|millis| {
            let before = session(&mut link);
            link.tick(since + millis);
            session(&mut link) != before
        });
        assert!(ends_at.is_some_and(|millis| millis >= TURN_MILLIS), "{ends_at:?}");
    }
}
