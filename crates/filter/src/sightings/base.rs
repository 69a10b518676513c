//! Deltas added up, and lists of any length cut into blocks that are encoded like deltas.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::iter::Peekable;

use super::codec::encode;
use super::{COUNT_MAX, Fingerprint, SIGHTINGS_MAX, Sighting, SightingsError};

/// Several ascending lists as one: of sightings of one signature increments are added, and the count is that of the
/// last list that has it. So lists of one site are given in the order in which the site said them.
///
/// Where the site's words are consistent, the sum of increments since its first word is its count; where it is not,
/// the site has contradicted itself, and whoever adds up can tell. Sums end at [`COUNT_MAX`].
///
/// It holds one sighting of each list at a time, so lists may be longer than memory.
#[derive(Debug)]
pub struct Merged<I: Iterator<Item = Sighting>> {
    lists: Vec<Peekable<I>>,
    /// The next fingerprint of each list that has one, the least on top; of equal ones the earlier list.
    next: BinaryHeap<Reverse<(Fingerprint, usize)>>,
}

impl<I: Iterator<Item = Sighting>> Merged<I> {
    /// Of these lists, each of which ascends.
    pub fn new(lists: impl IntoIterator<Item = I>) -> Self {
        let mut lists: Vec<Peekable<I>> = lists.into_iter().map(Iterator::peekable).collect();
        let heads = lists.iter_mut().enumerate();
        let next = heads.filter_map(|(list, head)| Some(Reverse((head.peek()?.fingerprint, list)))).collect();
        Merged { lists, next }
    }

    /// The next sighting of the list whose next is the least.
    fn take(&mut self) -> Option<Sighting> {
        let Reverse((_, list)) = self.next.pop()?;
        let taken = self.lists[list].next();
        if let Some(head) = self.lists[list].peek() {
            self.next.push(Reverse((head.fingerprint, list)));
        }
        taken
    }
}

impl<I: Iterator<Item = Sighting>> Iterator for Merged<I> {
    type Item = Sighting;

    fn next(&mut self) -> Option<Sighting> {
        let mut sum = self.take()?;
        while self.next.peek().is_some_and(|Reverse((fingerprint, _))| *fingerprint == sum.fingerprint) {
            let more = self.take()?;
            sum.increment = sum.increment.saturating_add(more.increment).min(COUNT_MAX);
            sum.count = more.count;
        }
        Some(sum)
    }
}

/// [`Merged`] for lists in memory.
pub fn add_up<L: AsRef<[Sighting]>>(lists: impl IntoIterator<Item = L>) -> Vec<Sighting> {
    let lists: Vec<L> = lists.into_iter().collect();
    Merged::new(lists.iter().map(|list| list.as_ref().iter().copied())).collect()
}

/// The blocks of a base, one after the other: an ascending list of any length, each block encoded like a delta, so
/// that [`decode`](super::decode) reads it.
///
/// After an error there are no more blocks.
#[derive(Debug)]
pub struct BaseBlocks<I> {
    sightings: I,
    /// The last sighting of the block before.
    last: Option<Fingerprint>,
    /// Encoded blocks of what was taken already, the next one last.
    ready: Vec<Vec<u8>>,
}

impl<I: Iterator<Item = Sighting>> BaseBlocks<I> {
    /// Of this list.
    pub(crate) fn new(sightings: impl IntoIterator<Item = Sighting, IntoIter = I>) -> Self {
        BaseBlocks { sightings: sightings.into_iter(), last: None, ready: Vec::new() }
    }

    fn take_block(&mut self) -> Result<Option<Vec<u8>>, SightingsError> {
        let block: Vec<Sighting> = self.sightings.by_ref().take(SIGHTINGS_MAX).collect();
        let (Some(first), Some(end)) = (block.first(), block.last()) else { return Ok(None) };
        if let Some(last) = self.last.replace(end.fingerprint)
            && last >= first.fingerprint
        {
            return Err(SightingsError::Order { last, next: first.fingerprint });
        }
        encode_pieces(&block, &mut self.ready)?;
        self.ready.reverse();
        Ok(self.ready.pop())
    }
}

impl<I: Iterator<Item = Sighting>> Iterator for BaseBlocks<I> {
    type Item = Result<Vec<u8>, SightingsError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(block) = self.ready.pop() {
            return Some(Ok(block));
        }
        let block = self.take_block();
        if block.is_err() {
            self.sightings.by_ref().for_each(drop);
        }
        block.transpose()
    }
}

/// Encodes at most [`SIGHTINGS_MAX`] sightings: in halves where they take too many bytes.
fn encode_pieces(sightings: &[Sighting], pieces: &mut Vec<Vec<u8>>) -> Result<(), SightingsError> {
    match encode(sightings) {
        Ok(bytes) => pieces.push(bytes),
        Err(SightingsError::TooLong(_)) => {
            let (front, back) = sightings.split_at(sightings.len() / 2);
            encode_pieces(front, pieces)?;
            encode_pieces(back, pieces)?;
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

/// The blocks of a base: see [`BaseBlocks`].
pub fn encode_base(sightings: impl IntoIterator<Item = Sighting>) -> Result<Vec<Vec<u8>>, SightingsError> {
    BaseBlocks::new(sightings).collect()
}

/// An ascending list of any length as deltas, each within [`SIGHTINGS_MAX`] and [`BYTES_MAX`](super::BYTES_MAX); an
/// empty list is none.
pub fn encode_all(sightings: &[Sighting]) -> Result<Vec<Vec<u8>>, SightingsError> {
    encode_base(sightings.iter().copied())
}
