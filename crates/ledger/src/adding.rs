//! Deltas of one site added up, in the order in which the site said them, in bounded memory.
//!
//! Lists are gathered until there are a million sightings of them, added up, and kept encoded: some four bytes each. At
//! the end the encoded runs are read side by side, a block of each at a time.

use seenit_filter::sightings::{Merged, Sighting, SightingsError, add_up, decode, encode_base};

/// Sightings that are gathered before they are added up and encoded: 24 MB.
const RUN_MAX: usize = 1 << 20;

/// Lists that are being added up.
#[derive(Default)]
pub(crate) struct AddingUp {
    /// Ascending runs, oldest first, each as encoded blocks.
    runs: Vec<Vec<Vec<u8>>>,
    /// Lists of the next run.
    lists: Vec<Vec<Sighting>>,
    gathered: usize,
    contradictions: u64,
}

/// What became of them.
pub(crate) struct AddedUp {
    /// Blocks in order of their fingerprints.
    pub(crate) blocks: Vec<Vec<u8>>,
    /// Fingerprints of which the site said in the end that it had seen them less often than it had said one by one.
    pub(crate) contradictions: u64,
}

impl AddingUp {
    /// Adds the next list.
    pub(crate) fn push(&mut self, list: Vec<Sighting>) -> Result<(), SightingsError> {
        self.gathered += list.len();
        self.lists.push(list);
        if self.gathered >= RUN_MAX { self.close_run() } else { Ok(()) }
    }

    /// Adds the blocks of a base, which come before all lists.
    pub(crate) fn push_base(&mut self, blocks: Vec<Vec<u8>>) {
        if !blocks.is_empty() {
            self.runs.push(blocks);
        }
    }

    fn close_run(&mut self) -> Result<(), SightingsError> {
        let sum = add_up(std::mem::take(&mut self.lists));
        let sum = sum.into_iter().map(|sighting| consistent(sighting, &mut self.contradictions));
        self.runs.push(encode_base(sum)?);
        self.gathered = 0;
        Ok(())
    }

    /// All sightings in order of their fingerprints: how often each was seen, and the last count that was said.
    pub(crate) fn sightings(&mut self) -> Result<impl Iterator<Item = Sighting> + '_, SightingsError> {
        if !self.lists.is_empty() {
            self.close_run()?;
        }
        // Each block was decoded once or encoded here: one that cannot be read is as good as none.
        let runs = self.runs.iter();
        Ok(Merged::new(runs.map(|blocks| blocks.iter().flat_map(|block| decode(block).unwrap_or_default()))))
    }

    /// All of them as a base.
    pub(crate) fn finish(mut self) -> Result<AddedUp, SightingsError> {
        let mut contradictions = 0;
        let sum = self.sightings()?.map(|sighting| consistent(sighting, &mut contradictions));
        let blocks = encode_base(sum)?;
        Ok(AddedUp { blocks, contradictions: self.contradictions + contradictions })
    }
}

/// A site whose last count is less than the sum of what it said has contradicted itself: the sum counts.
fn consistent(mut sighting: Sighting, contradictions: &mut u64) -> Sighting {
    if sighting.count < sighting.increment {
        *contradictions += 1;
        sighting.count = sighting.increment;
    }
    sighting
}

#[cfg(test)]
mod tests {
    use super::*;
    use seenit_filter::sightings::Fingerprint;

    fn said(number: u64, increment: u64, count: u64) -> Sighting {
        let fingerprint = Fingerprint::new(number).expect("few bits");
        Sighting { fingerprint, increment, count }
    }

    #[test]
    fn a_base_and_lists_after_it_are_one_list_and_a_contradiction_is_noticed() {
        let mut adding = AddingUp::default();
        adding.push_base(encode_base([said(1, 5, 5), said(9, 1, 1)]).expect("a base"));
        adding.push(vec![said(1, 2, 7), said(4, 3, 8)]).expect("a list");
        adding.push(vec![said(4, 1, 9)]).expect("a list");
        let sum: Vec<Sighting> = adding.sightings().expect("readable").collect();
        assert_eq!(sum, [said(1, 7, 7), said(4, 4, 9), said(9, 1, 1)]);
        let added = adding.finish().expect("a base");
        assert_eq!((added.blocks.len(), added.contradictions), (1, 0));

        let mut lies = AddingUp::default();
        (0..10).for_each(|_| lies.push(vec![said(7, 5, 5)]).expect("a list"));
        let added = lies.finish().expect("a base");
        assert_eq!(added.contradictions, 1);
        assert_eq!(decode(&added.blocks[0]).expect("a block"), [said(7, 50, 50)]);
    }
}
