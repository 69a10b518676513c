//! Copies of others' seen cells. On disk they are chunks of one gain from nothing, and the messages after it as they
//! came; in memory there are few at a time, when one is compared, repaired or handed on, and each takes as much as
//! it holds: cells are made for all sites, and one of them has counted few.

use std::collections::BTreeSet;
use std::ops::Range;

use seenit_filter::AnyLayout;
use seenit_filter::cells::{Cells, LeanCells};
use seenit_filter::counting::{CountingFilter, Refined};
use seenit_filter::delta::{CountGain, DeltaError, Follower};
use seenit_sites::Digest;
use seenit_sites::beat::StreamId;
use seenit_sites::message::Message;
use seenit_sites::root::{PageOfCells, Tree, leaf};
use seenit_sites::roster::Roster;
use seenit_sites::{list, part};

use crate::following::{Position, Step};
use crate::journal::{Batch, Counts, Journal, JournalError};
use crate::rows;

/// Cells that a step of gains may raise: 256 MiB of them, seven a signature.
const INCREMENTS_MAX: usize = 16 << 20;

/// Bytes of a chunk.
const CHUNK_BYTES: usize = 1 << 20;

/// Messages of a stream are gathered into chunks when there are so many bytes of them, and as many as in its chunks.
pub(crate) const LOG_BYTES_MIN: u64 = 1 << 20;

/// Seen cells of one site and generation, however they are stored.
type CountsIn<C> = CountingFilter<Refined, AnyLayout, C>;

/// A copy of another's.
pub(crate) type Copied = CountsIn<LeanCells>;

pub(crate) type Follow = Follower<Refined, AnyLayout, LeanCells>;

/// A copy in memory.
pub(crate) struct Held {
    pub(crate) id: StreamId,
    pub(crate) follower: Follow,
    tree: Tree,
    /// Pages that changed since the tree was made.
    touched: BTreeSet<u64>,
}

impl Held {
    pub(crate) fn new(id: StreamId, counts: Copied, applied: u64) -> Self {
        let tree = tree_of(&counts);
        Held { id, follower: Follower::new(counts, applied), tree, touched: BTreeSet::new() }
    }

    /// Applies gains that were found to be readable.
    pub(crate) fn apply(&mut self, gains: &[CountGain<'_>]) -> Result<(), JournalError> {
        let unreadable = |error: DeltaError| JournalError(error.to_string());
        for gain in gains {
            self.touched.extend(pages_touched(gain, self.follower.counts()).map_err(unreadable)?);
            self.follower.apply(gain).map_err(unreadable)?;
        }
        Ok(())
    }

    /// A page changed.
    pub(crate) fn touch(&mut self, page: u64) {
        self.touched.insert(page);
    }

    /// How many pages it has.
    pub(crate) fn pages(&self) -> u64 {
        self.tree.pages()
    }

    /// The tree over its pages. Whoever counts a lot touches all pages all the time, so it is brought up to date only
    /// when somebody looks.
    pub(crate) fn tree(&mut self) -> &Tree {
        self.tree_and_counts().0
    }

    pub(crate) fn tree_and_counts(&mut self) -> (&Tree, &Copied) {
        let (tree, counts) = (&mut self.tree, self.follower.counts());
        retouch(tree, counts, std::mem::take(&mut self.touched));
        (tree, counts)
    }
}

/// A copy in which nothing is counted.
pub(crate) fn nothing<J: Journal>(journal: &J, generation: u64) -> Result<Copied, JournalError> {
    let empty = journal.empty(generation)?;
    let cells = LeanCells::zeroed_like(empty.cells());
    Copied::new(*empty.layout(), cells, empty.promise(), empty.fingerprint())
        .map_err(|error| JournalError(error.to_string()))
}

/// How many pages there are.
fn pages_of<C: Cells>(counts: &CountsIn<C>) -> u64 {
    counts.cells().len().div_ceil(counts.cells().per_page())
}

/// The cells of a page.
pub(crate) fn cells_of<C: Cells>(counts: &CountsIn<C>, page: u64) -> Range<u64> {
    let (per_page, end) = (counts.cells().per_page(), counts.cells().len());
    let first = page.saturating_mul(per_page).min(end);
    first..first.saturating_add(per_page).min(end)
}

/// The canonical bytes of a page.
pub(crate) fn page_of<C: Cells>(counts: &CountsIn<C>, page: u64) -> Vec<u8> {
    let (first, mut made) = (cells_of(counts, page).start, PageOfCells::default());
    counts.cells().for_each_nonzero_on(page, |cell, value| made.put(cell - first, value));
    made.into_bytes()
}

/// The digest of a page.
fn leaf_of<C: Cells>(counts: &CountsIn<C>, page: u64) -> Digest {
    leaf(&page_of(counts, page))
}

/// The pages that a gain touches, in order.
pub(crate) fn pages_touched<C: Cells>(
    gain: &CountGain<'_>,
    like: &CountsIn<C>,
) -> Result<Vec<u64>, DeltaError> {
    let (mut pages, per_page) = (Vec::new(), like.cells().per_page());
    gain.for_each(like, |cell, _| {
        let page = cell / per_page;
        if pages.last() != Some(&page) {
            pages.push(page);
        }
    })?;
    Ok(pages)
}

/// Brings a tree up to date where pages of these cells changed.
pub(crate) fn retouch<C: Cells>(tree: &mut Tree, counts: &CountsIn<C>, pages: BTreeSet<u64>) {
    let leaves: Vec<_> = pages.into_iter().map(|page| (page, leaf_of(counts, page))).collect();
    // A page that is not there changes nothing.
    let _ = tree.update(&leaves);
}

/// The tree over all pages.
pub(crate) fn tree_of<C: Cells>(counts: &CountsIn<C>) -> Tree {
    Tree::of((0..pages_of(counts)).map(|page| leaf_of(counts, page)))
}

/// The gains of a step, from the sequence after `applied` on.
pub(crate) fn gains_of(
    step: &Step,
    applied: u64,
    roster: &Roster,
) -> Result<Vec<CountGain<'static>>, String> {
    let mut body = Vec::new();
    for bytes in step.parts.iter().flatten() {
        let message = Message::reread(bytes, roster).map_err(|error| error.to_string())?;
        body.extend_from_slice(part::part(message.payload()).map_err(|error| error.to_string())?.2);
    }
    let (previous, sequence) = (step.head.previous(), step.head.state().sequence);
    let items = list::items(&body, sequence - previous).map_err(|error| error.to_string())?;
    let mut gains = Vec::new();
    for (number, item) in (previous + 1..).zip(items).filter(|(number, _)| *number > applied) {
        let gain = CountGain::open(item.to_vec()).map_err(|error| error.to_string())?;
        if gain.sequence() != number {
            return Err(format!("gain {} stands where {number} should", gain.sequence()));
        }
        gains.push(gain);
    }
    Ok(gains)
}

/// What gains add to each cell, in order. A few bytes can say that all cells grow: so many are refused, and their pages
/// asked for.
pub(crate) fn increments(gains: &[CountGain<'_>], like: &Counts) -> Result<Vec<(u64, u64)>, String> {
    let (mut increments, mut is_beyond) = (Vec::new(), false);
    for gain in gains {
        let visited = gain.for_each(like, |cell, by| match increments.len() {
            INCREMENTS_MAX => is_beyond = true,
            _ => increments.push((cell, by)),
        });
        visited.map_err(|error| error.to_string())?;
        if is_beyond {
            return Err(format!("more than {INCREMENTS_MAX} cells grow at once"));
        }
    }
    increments.sort_unstable_by_key(|(cell, _)| *cell);
    increments.dedup_by(|(cell, by), (before, sum)| {
        let is_same = cell == before;
        *sum = if is_same { sum.saturating_add(*by) } else { *sum };
        is_same
    });
    Ok(increments)
}

/// All cells as one gain from nothing.
pub(crate) fn packed<C: Cells>(empty: &CountsIn<C>, counts: &CountsIn<C>) -> Result<Vec<u8>, String> {
    CountGain::between(empty, counts, 1).map(|gain| gain.bytes().to_vec()).map_err(|error| error.to_string())
}

/// The cells that a gain from nothing holds.
pub(crate) fn unpacked(empty: Copied, bytes: &[u8]) -> Result<Copied, String> {
    let gain = CountGain::open(bytes).map_err(|error| error.to_string())?;
    let mut follower = Follower::new(empty, 0);
    follower.apply(&gain).map_err(|error| error.to_string())?;
    Ok(follower.into_counts())
}

/// Reads a copy from its rows. What is not all there is refused: whoever takes it for the whole counts too little.
pub(crate) fn read<J: Journal>(
    journal: &J,
    roster: &Roster,
    stream: (u16, &StreamId),
    (generation, position): (u64, &Position),
) -> Result<Copied, JournalError> {
    let (counts, applied) = read_some(journal, roster, stream, (generation, position))?;
    match applied == position.applied {
        true => Ok(counts),
        false => Err(JournalError(format!("it ends at {applied}, and {} was applied", position.applied))),
    }
}

/// Reads as much of a copy as is there: the cells, and how far they are.
pub(crate) fn read_some<J: Journal>(
    journal: &J,
    roster: &Roster,
    (slot, id): (u16, &StreamId),
    (generation, position): (u64, &Position),
) -> Result<(Copied, u64), JournalError> {
    let (name, mut base) = (rows::stream(slot, id), Vec::new());
    journal.rows(&rows::chunks(&name), &mut |_, chunk| {
        base.extend_from_slice(chunk);
        true
    })?;
    if base.len() as u64 != position.base_bytes {
        return Err(JournalError(format!("{} bytes of {} are there", base.len(), position.base_bytes)));
    }
    let mut counts = nothing(journal, generation)?;
    if !base.is_empty() {
        counts = unpacked(counts, &base).map_err(JournalError)?;
    }
    let mut follower = Follower::new(counts, position.base);
    let mut problem = None;
    each_step(journal, roster, &name, |step| match apply_step(&mut follower, &step, roster) {
        Ok(()) => true,
        Err(why) => {
            problem = Some(why);
            false
        }
    })?;
    match problem {
        Some(why) => Err(JournalError(why)),
        None => {
            let applied = follower.applied();
            Ok((follower.into_counts(), applied))
        }
    }
}

/// Applies what a step adds; one that is behind adds nothing.
pub(crate) fn apply_step(follower: &mut Follow, step: &Step, roster: &Roster) -> Result<(), String> {
    for gain in gains_of(step, follower.applied(), roster)? {
        follower.apply(&gain).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Calls `visit` with the steps of a stream that are kept, in order.
fn each_step<J: Journal>(
    journal: &J,
    roster: &Roster,
    name: &[u8; 19],
    mut visit: impl FnMut(Step) -> bool,
) -> Result<(), JournalError> {
    let mut gathered: Option<Step> = None;
    journal.rows(&rows::messages(name), &mut |_, bytes| {
        let Ok(message) = Message::reread(bytes, roster) else { return true };
        let Ok((number, count, _)) = part::part(message.payload()) else { return true };
        let fresh = || Step { head: *message.head(), parts: vec![None; count] };
        let mut step = match gathered.take() {
            Some(step) if step.head.state().sequence == message.head().state().sequence => step,
            _ => fresh(),
        };
        if let Some(place) = step.parts.get_mut(number) {
            *place = Some(bytes.to_vec());
        }
        if step.is_whole() {
            return visit(step);
        }
        gathered = Some(step);
        true
    })
}

/// Rows that make these cells the base of a stream, in place of all that was kept of it.
pub(crate) fn base_rows<J: Journal>(
    journal: &J,
    (slot, id): (u16, &StreamId),
    packed: &[u8],
) -> Result<Batch, JournalError> {
    let (name, mut batch) = (rows::stream(slot, id), Batch::default());
    for prefix in [rows::chunks(&name), rows::messages(&name)] {
        journal.rows(&prefix, &mut |key, _| {
            batch.rows.push((key.to_vec(), None));
            true
        })?;
    }
    for (number, chunk) in packed.chunks(CHUNK_BYTES).enumerate() {
        batch.rows.push((rows::chunk(&name, number as u32), Some(chunk.to_vec())));
    }
    Ok(batch)
}
