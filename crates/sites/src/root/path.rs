//! The path of a page: the digests beside it, up to the root.

use thiserror::Error;

use super::{BRANCH_PAGES, NoSuchPage, PAGES_MAX, leaf, node, root};
use crate::digest::Digest;
use crate::form::{Bytes, FormError};

/// Why bytes are no path.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PathError {
    /// Not as long as the path of its page.
    #[error("no path: {0}")]
    Form(#[from] FormError),
    /// The page is beyond the last.
    #[error("no path: {0}")]
    Page(#[from] NoSuchPage),
    /// More pages than any root stands for.
    #[error("a path among {0} pages: there may be {PAGES_MAX}")]
    Pages(u64),
    /// A branch begins at a multiple of its length.
    #[error("a branch from page {0} on: branches have {BRANCH_PAGES} pages each")]
    Branch(u64),
}

/// What proves that a page is one of those that a root stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    page: u64,
    pages: u64,
    /// From below; none where there is no neighbour.
    siblings: Vec<Digest>,
}

impl Path {
    /// There must be as many siblings as the page has neighbours.
    pub(super) fn new(page: u64, pages: u64, siblings: Vec<Digest>) -> Self {
        Path { page, pages, siblings }
    }

    /// Which page it is of, counted from 0.
    pub fn page(&self) -> u64 {
        self.page
    }

    /// Among how many.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// Whether these are the bytes of its page under that root.
    pub fn leads_to(&self, to: &Digest, page: &[u8]) -> bool {
        self.root_over(leaf(page)) == *to
    }

    /// The root that there would be if its page had this leaf.
    fn root_over(&self, leaf: Digest) -> Digest {
        let mut siblings = self.siblings.iter();
        let top = turns(self.page, self.pages).fold(leaf, |below, turn| match turn {
            Turn::Lone => below,
            Turn::Left => siblings.next().map_or(below, |right| node(&below, right)),
            Turn::Right => siblings.next().map_or(below, |left| node(left, &below)),
        });
        root(self.pages, Some(&top))
    }

    /// Appends its bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.page.to_le_bytes());
        out.extend(self.pages.to_le_bytes());
        self.siblings.iter().for_each(|sibling| out.extend(sibling.0));
    }

    /// Reads a path: exactly as many digests as its page has neighbours.
    pub fn decode(bytes: &[u8]) -> Result<Self, PathError> {
        let mut rest = Bytes(bytes);
        let (page, pages) = (rest.u64()?, rest.u64()?);
        if pages > PAGES_MAX {
            return Err(PathError::Pages(pages));
        }
        if page >= pages {
            return Err(NoSuchPage { page, pages }.into());
        }
        let siblings = turns(page, pages).filter(|turn| *turn != Turn::Lone);
        let siblings = siblings.map(|_| rest.array().map(Digest)).collect::<Result<_, _>>()?;
        rest.end()?;
        Ok(Path { page, pages, siblings })
    }
}

/// On which side of its neighbour a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Left,
    Right,
    /// It has none.
    Lone,
}

/// From a page up to the top, level by level.
pub(super) fn turns(page: u64, pages: u64) -> impl Iterator<Item = Turn> {
    let (mut place, mut width) = (page, pages);
    std::iter::from_fn(move || {
        if width <= 1 {
            return None;
        }
        let turn = match place % 2 {
            1 => Turn::Right,
            _ if place + 1 < width => Turn::Left,
            _ => Turn::Lone,
        };
        (place, width) = (place / 2, width.div_ceil(2));
        Some(turn)
    })
}
