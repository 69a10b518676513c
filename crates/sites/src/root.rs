//! Roots: one digest that stands for all pages a site holds, and proof that a page is one of them.
//!
//! ```text
//! leaf   = H(page domain, page)
//! node   = H(node domain, left, right)         two neighbours; one that has none goes up as it is
//! root   = H(root domain, number of pages, top)
//! ```
//!
//! A page is whatever bytes its owner calls canonical: of seen cells, what [`PageOfCells`] makes of them. The
//! number of pages is in the root, and the place of a page follows from its path, so neither can be made up.

mod branch;
mod cells;
mod path;

use thiserror::Error;

use crate::digest::{Digest, Domain};

pub use branch::{BRANCH_PAGES, Branch};
pub use cells::{PageError, PageOfCells, decode_cells};
pub use path::{Path, PathError};

/// The most pages under a root: 64 GiB of cells, more than a generation of any site has memory for.
pub const PAGES_MAX: u64 = 1 << 24;

const PAGE: Domain = *b"seenit page v1                  ";
const NODE: Domain = *b"seenit node of pages v1         ";
const ROOT: Domain = *b"seenit root of pages v1         ";

/// The digest of a page as it stands in a tree.
pub fn leaf(page: &[u8]) -> Digest {
    Digest::of(&PAGE, &[page])
}

fn node(left: &Digest, right: &Digest) -> Digest {
    Digest::of(&NODE, &[&left.0, &right.0])
}

fn root(pages: u64, top: Option<&Digest>) -> Digest {
    let top = top.map_or(&[] as &[u8], |top| top.0.as_slice());
    Digest::of(&ROOT, &[&pages.to_le_bytes(), top])
}

/// A page that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("there is no page {page}: there are {pages}")]
pub struct NoSuchPage {
    /// The page, counted from 0.
    pub page: u64,
    /// How many there are.
    pub pages: u64,
}

/// All digests between the pages and their root: 64 bytes a page, so that a change costs as many digests as the tree
/// is high.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// Leaves first, the top last; a level has half as many as the one before. Of no pages there is one level, empty.
    levels: Vec<Vec<Digest>>,
}

impl Tree {
    /// The tree over these leaves.
    pub fn of(leaves: impl IntoIterator<Item = Digest>) -> Self {
        let mut level: Vec<Digest> = leaves.into_iter().collect();
        let mut levels = Vec::new();
        while level.len() > 1 {
            let above = (0..level.len().div_ceil(2)).filter_map(|place| parent(&level, place)).collect();
            levels.push(std::mem::replace(&mut level, above));
        }
        levels.push(level);
        Tree { levels }
    }

    /// How many pages there are.
    pub fn pages(&self) -> u64 {
        self.levels.first().map_or(0, |leaves| leaves.len() as u64)
    }

    /// The root.
    pub fn root(&self) -> Digest {
        root(self.pages(), self.levels.last().and_then(|top| top.first()))
    }

    /// The leaf of a page.
    pub fn leaf(&self, page: u64) -> Option<&Digest> {
        self.levels.first()?.get(usize::try_from(page).ok()?)
    }

    /// Puts new leaves in the place of some. In case of an error nothing has changed. Of one page twice the last
    /// counts.
    pub fn update(&mut self, changes: &[(u64, Digest)]) -> Result<(), NoSuchPage> {
        let pages = self.pages();
        if let Some(&(page, _)) = changes.iter().find(|(page, _)| *page >= pages) {
            return Err(NoSuchPage { page, pages });
        }
        let mut changed: Vec<usize> = Vec::with_capacity(changes.len());
        for (page, digest) in changes {
            let place = *page as usize;
            if let Some(leaf) = self.levels.first_mut().and_then(|leaves| leaves.get_mut(place)) {
                *leaf = *digest;
                changed.push(place);
            }
        }
        changed.sort_unstable();
        for height in 1..self.levels.len() {
            changed.iter_mut().for_each(|place| *place /= 2);
            changed.dedup();
            let (below, above) = self.levels.split_at_mut(height);
            let (Some(below), Some(above)) = (below.last(), above.first_mut()) else { break };
            for &place in &changed {
                if let (Some(node), Some(digest)) = (above.get_mut(place), parent(below, place)) {
                    *node = digest;
                }
            }
        }
        Ok(())
    }

    /// What proves a page.
    pub fn path(&self, page: u64) -> Option<Path> {
        self.leaf(page)?;
        let mut place = page as usize;
        let mut siblings = Vec::with_capacity(self.levels.len());
        for level in &self.levels {
            siblings.extend(level.get(place ^ 1));
            place /= 2;
        }
        Some(Path::new(page, self.pages(), siblings))
    }
}

/// What stands above two neighbours, or above one that has none.
fn parent(below: &[Digest], place: usize) -> Option<Digest> {
    let left = below.get(2 * place)?;
    Some(below.get(2 * place + 1).map_or(*left, |right| node(left, right)))
}
