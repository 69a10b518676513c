//! The red stop set: as a list, as a Bloom filter, and as a filter from which the most troublesome false positives were
//! retouched away.

use seenit_filter::hash::{Hash128, SipKey};
use seenit_filter::retouch::{Algorithm, Known, Plan, Retouched, Weighing};
use seenit_filter::{Filter, Flat, HugePages};

use super::topology::Node;
use super::traces::Cycle;
use crate::bench::LabError;

/// What the learning round taught.
pub(super) struct Learned {
    /// The stop set as a list: the penultimate nodes of all traces.
    pub(super) in_set: Vec<bool>,
    /// Its size.
    pub(super) size: usize,
    /// On how many traces each node is.
    pub(super) troublesomeness: Vec<u32>,
}

impl Learned {
    pub(super) fn from(cycle: &Cycle, nodes: usize) -> Learned {
        let mut in_set = vec![false; nodes];
        let mut troublesomeness = vec![0; nodes];
        for trace in cycle.traces() {
            trace.iter().for_each(|&node| troublesomeness[node as usize] += 1);
            if let Some(&last) = trace.last() {
                in_set[last as usize] = true;
            }
        }
        let size = in_set.iter().filter(|&&is| is).count();
        Learned { in_set, size, troublesomeness }
    }

    /// Nodes that were seen and are not in the set.
    pub(super) fn others(&self) -> impl Iterator<Item = Node> + '_ {
        let seen = self.troublesomeness.iter().zip(&self.in_set);
        seen.enumerate().filter(|(_, (times, is))| **times > 0 && !**is).map(|(node, _)| node as Node)
    }
}

/// A Bloom filter of the set, and the false positives it has among the nodes seen.
pub(super) struct StopFilter<'a> {
    learned: &'a Learned,
    hashes: &'a [Hash128],
    filter: Filter<Flat>,
    members: Vec<Hash128>,
    /// The most troublesome first; among equals in an order that says nothing.
    pub(super) positives: Vec<Node>,
}

impl<'a> StopFilter<'a> {
    pub(super) fn new(
        learned: &'a Learned,
        hashes: &'a [Hash128],
        bits: u64,
        k: u32,
    ) -> Result<Self, LabError> {
        let mut filter = empty(Flat::new(bits, k)?)?;
        let set = learned.in_set.iter().zip(hashes).filter(|(is, _)| **is);
        let members: Vec<Hash128> = set.map(|(_, &hash)| hash).collect();
        members.iter().for_each(|&hash| filter.insert(hash));
        let hits = |node: &Node| filter.contains(hashes[*node as usize]);
        let mut positives: Vec<Node> = learned.others().filter(hits).collect();
        positives.sort_by_key(|&node| {
            let times = learned.troublesomeness[node as usize];
            (std::cmp::Reverse(times), hashes[node as usize].lo)
        });
        Ok(StopFilter { learned, hashes, filter, members, positives })
    }

    /// The nodes that test positive.
    pub(super) fn bloom(&self) -> Vec<bool> {
        positive(&self.filter, self.hashes)
    }

    /// The nodes that test positive once the `beta` most troublesome false positives are retouched away, and what that
    /// did. `v_B` counts all known false positives, as in the paper's tables.
    pub(super) fn retouched(
        &self,
        algorithm: Algorithm,
        beta: f64,
    ) -> Result<(Vec<bool>, Retouched), LabError> {
        let hashes =
            |nodes: &[Node]| nodes.iter().map(|&node| self.hashes[node as usize]).collect::<Vec<_>>();
        let (remove, others) = self.positives.split_at((self.positives.len() as f64 * beta).round() as usize);
        let remove = hashes(remove);
        let others = hashes(others);
        let known = Known { members: Some(&self.members), others: Some(&others) };
        let plan = Plan { remove: &remove, algorithm, weighing: Weighing::AllKnown, seed: 0, known };
        let mut copy = empty(*self.filter.layout())?;
        copy.union(&self.filter).expect("of one kind");
        let done = copy.retouch(&plan, |_| ())?;
        Ok((positive(&copy, self.hashes), done))
    }

    /// How many traces each false positive is on, the most first.
    pub(super) fn troublesomeness(&self) -> impl Iterator<Item = u32> + '_ {
        self.positives.iter().map(|&node| self.learned.troublesomeness[node as usize])
    }
}

fn positive(filter: &Filter<Flat>, hashes: &[Hash128]) -> Vec<bool> {
    hashes.iter().map(|&hash| filter.contains(hash)).collect()
}

/// An empty filter. Nobody will keep it, so its key does not matter.
fn empty(layout: Flat) -> Result<Filter<Flat>, LabError> {
    Ok(Filter::new(layout, None, SipKey::public().fingerprint(), HugePages::Default)?)
}
