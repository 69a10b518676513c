//! A branch: a run of neighbouring leaves, and what leads from them to the root. Who compares it with its own leaves
//! knows which pages differ, and that the others do not.

use super::path::{Turn, turns};
use super::{NoSuchPage, PAGES_MAX, PathError, Tree, node, parent, root};
use crate::digest::Digest;
use crate::form::{Bytes, FormError};

/// How many levels of leaves a branch takes together.
const BRANCH_LEVELS: u32 = 12;

/// The most leaves of a branch: 128 KiB of them.
pub const BRANCH_PAGES: u64 = 1 << BRANCH_LEVELS;

/// Leaves of neighbouring pages, and the digests beside them up to the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    first: u64,
    pages: u64,
    leaves: Vec<Digest>,
    siblings: Vec<Digest>,
}

impl Tree {
    /// The branch that a page is on.
    pub fn branch(&self, page: u64) -> Option<Branch> {
        self.leaf(page)?;
        let (first, pages) = (page - page % BRANCH_PAGES, self.pages());
        let leaves = self.levels.first()?.iter().skip(first as usize).take(BRANCH_PAGES as usize);
        let mut siblings = Vec::new();
        let mut place = (first >> BRANCH_LEVELS) as usize;
        for level in self.levels.iter().skip(BRANCH_LEVELS as usize) {
            siblings.extend(level.get(place ^ 1));
            place /= 2;
        }
        Some(Branch { first, pages, leaves: leaves.copied().collect(), siblings })
    }
}

impl Branch {
    /// The first page on it.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// How many pages there are under the root.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// The leaves, from the first page on.
    pub fn leaves(&self) -> &[Digest] {
        &self.leaves
    }

    /// Whether it is a branch under that root.
    pub fn leads_to(&self, to: &Digest) -> bool {
        let mut level = self.leaves.clone();
        for _ in 0..BRANCH_LEVELS {
            level = (0..level.len().div_ceil(2)).filter_map(|place| parent(&level, place)).collect();
        }
        let Some(&below) = level.first() else { return false };
        let mut siblings = self.siblings.iter();
        let top = self.turns().fold(below, |below, turn| match turn {
            Turn::Lone => below,
            Turn::Left => siblings.next().map_or(below, |right| node(&below, right)),
            Turn::Right => siblings.next().map_or(below, |left| node(left, &below)),
        });
        root(self.pages, Some(&top)) == *to
    }

    fn turns(&self) -> impl Iterator<Item = Turn> + use<> {
        turns(self.first, self.pages).skip(BRANCH_LEVELS as usize)
    }

    /// Appends its bytes: first page, pages, leaves, siblings. How many there are follows from the first two.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.first.to_le_bytes());
        out.extend(self.pages.to_le_bytes());
        self.leaves.iter().chain(&self.siblings).for_each(|digest| out.extend(digest.0));
    }

    /// Reads a branch, and nothing behind it.
    pub fn decode(bytes: &[u8]) -> Result<Self, PathError> {
        let mut rest = Bytes(bytes);
        let (first, pages) = (rest.u64()?, rest.u64()?);
        if pages > PAGES_MAX {
            return Err(PathError::Pages(pages));
        }
        if first >= pages {
            return Err(NoSuchPage { page: first, pages }.into());
        }
        if first % BRANCH_PAGES != 0 {
            return Err(PathError::Branch(first));
        }
        let mut digests = |count: u64| -> Result<Vec<Digest>, FormError> {
            (0..count).map(|_| rest.array().map(Digest)).collect()
        };
        let leaves = digests(BRANCH_PAGES.min(pages - first))?;
        let lone = |turn: &Turn| *turn != Turn::Lone;
        let branch = Branch { first, pages, leaves, siblings: Vec::new() };
        let siblings = digests(branch.turns().filter(lone).count() as u64)?;
        rest.end()?;
        Ok(Branch { siblings, ..branch })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::leaf;

    fn tree(pages: u64) -> Tree {
        Tree::of((0..pages).map(|page| leaf(&page.to_le_bytes())))
    }

    #[test]
    fn every_branch_leads_to_its_root_and_to_no_other() {
        for pages in [1, 2, 3, 5, 4095, 4096, 4097, 8192, 12_289, 20_000] {
            let tree = tree(pages);
            let mut covered = 0;
            while covered < pages {
                let branch = tree.branch(covered).expect("a branch");
                assert!(branch.leads_to(&tree.root()), "{pages} pages, branch from {covered}");
                let mut bytes = Vec::new();
                branch.encode(&mut bytes);
                assert_eq!(Branch::decode(&bytes), Ok(branch.clone()));
                let mut other = branch.clone();
                other.leaves[0].0[0] ^= 1;
                assert!(!other.leads_to(&tree.root()));
                covered += branch.leaves().len() as u64;
            }
            assert_eq!(covered, pages);
            assert!(tree.branch(pages).is_none());
        }
    }

    #[test]
    fn bytes_that_are_no_branch_are_refused() {
        let mut bytes = Vec::new();
        tree(5000).branch(4096).expect("a branch").encode(&mut bytes);
        assert!(Branch::decode(&bytes[..bytes.len() - 1]).is_err());
        bytes.push(0);
        assert!(Branch::decode(&bytes).is_err());
        let mut begun = Vec::new();
        begun.extend(1u64.to_le_bytes());
        begun.extend(9u64.to_le_bytes());
        assert_eq!(Branch::decode(&begun), Err(PathError::Branch(1)));
    }
}
