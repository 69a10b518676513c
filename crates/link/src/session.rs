//! A repair of cells: pages that differ are found by branches and fetched, until all of a copy is what its site signed.

use std::collections::{BTreeSet, VecDeque};

use seenit_filter::delta::Applied;
use seenit_sites::ask::{Ask, PAGES_ASKED_MAX};
use seenit_sites::beat::StreamId;
use seenit_sites::message::{HEAD_BYTES, Head, Stream};
use seenit_sites::root::{BRANCH_PAGES, Branch, Path, decode_cells};

use crate::apply::described;
use crate::cells::{self, Copied, Held};
use crate::following::Position;
use crate::journal::{Journal, JournalError};
use crate::link::Link;

/// A repair of cells that nothing came of for so long makes room for another.
const IDLE_MILLIS: u64 = 20_000;

/// One that takes so long does so, too, if another waits: a site whose cells are never what it signed would keep the
/// place for good.
const TURN_MILLIS: u64 = 600_000;

/// A repair of cells that is under way.
pub(crate) struct Session {
    pub(crate) held: Held,
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

impl<J: Journal> Link<J> {
    /// The next question of a repair of cells, which begins with it where none is under way.
    pub(crate) fn ask_for_cells(
        &mut self,
        id: &StreamId,
        generation: u64,
    ) -> Result<Option<Ask>, JournalError> {
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

    /// The signed head of an answer, if it is of the cells that are being repaired and not behind what is held.
    fn head_of_session(&self, bytes: &[u8]) -> Option<Head> {
        let head = Head::decode(bytes, self.papers.roster.as_ref()?).ok()?;
        let session = self.repairs.session.as_ref()?;
        let following = self.following.get(&session.held.id)?;
        let is_new = head.state().sequence > following.position.applied
            || following.mismatch.is_some() && head.state().sequence == following.position.applied;
        (StreamId::of(&head) == session.held.id && is_new).then_some(head)
    }

    pub(crate) fn take_leaves(&mut self, bytes: &[u8], branch: &Branch) -> Result<(), JournalError> {
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

    pub(crate) fn take_pages(&mut self, bytes: &[u8], pages: &[(Path, Vec<u8>)]) -> Result<(), JournalError> {
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
