//! Cycles of traces: the first is the learning round, and between two cycles some destinations move.

use std::collections::HashMap;

use seenit_filter::random::SplitMix;

use super::topology::{Node, Topology};

/// The odds, per destination and cycle, that its last hop is replaced by an address nobody saw before: the share of
/// traces that collide with the paper's list.
const REPLACE_ODDS: f64 = 0.125;

/// The odds, per destination and cycle, that a node appears behind the last hop, so that the old one stops traces too
/// early. With the routers that lie on the way to others, the list then stops short about as often as the paper's, in
/// 0.0936 of traces. It was set after a look: a first guess of 0.06 had the list at 0.064. Answers that are close
/// depend on it, above all by how much retouching reduces stopping short.
const APPEND_ODDS: f64 = 0.095;

/// The traces of one cycle, monitor by monitor.
pub(super) struct Cycle {
    hops: Vec<Node>,
    /// Where each trace ends in `hops`.
    ends: Vec<u32>,
}

impl Cycle {
    /// The nodes of each trace; the last is its penultimate node.
    pub(super) fn traces(&self) -> impl Iterator<Item = &[Node]> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).map(|(&start, &end)| &self.hops[start as usize..end as usize])
    }

    /// How many traces there are.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The mean number of nodes of a trace.
    pub(super) fn mean_hops(&self) -> f64 {
        self.hops.len() as f64 / self.ends.len() as f64
    }

    /// The number of the link behind each hop of each trace, dense and one for each pair of neighbours, and how many
    /// there are. The last hop of a trace has none: what follows is the destination.
    pub(super) fn links(&self) -> (Vec<u32>, usize) {
        let mut numbers = HashMap::new();
        let mut links = Vec::with_capacity(self.hops.len());
        for trace in self.traces() {
            for pair in trace.windows(2) {
                let next = numbers.len() as u32;
                links.push(*numbers.entry((pair[0], pair[1])).or_insert(next));
            }
            links.push(u32::MAX);
        }
        (links, numbers.len())
    }
}

/// All cycles, and how many nodes they have. Cycle 0 is the learning round.
pub(super) fn cycles(topology: &Topology, count: usize, rng: &mut SplitMix) -> (Vec<Cycle>, usize) {
    let mut nodes = topology.nodes;
    let mut moved = vec![Moved::default(); topology.size.destinations];
    let mut all = Vec::with_capacity(count);
    for cycle in 0..count {
        if cycle > 0 {
            moved.iter_mut().for_each(|destination| destination.step(rng, &mut nodes));
        }
        all.push(snapshot(topology, &moved));
    }
    (all, nodes as usize)
}

fn snapshot(topology: &Topology, moved: &[Moved]) -> Cycle {
    let mut hops = Vec::new();
    let mut ends = Vec::with_capacity(topology.paths.len());
    for (path, moved) in topology.paths.iter().zip(moved.iter().cycle()) {
        let (last, before) = path.split_last().expect("a trace has hops");
        hops.extend(before);
        hops.push(moved.last.unwrap_or(*last));
        hops.extend(&moved.appended);
        ends.push(hops.len() as u32);
    }
    Cycle { hops, ends }
}

/// What became of the way to a destination since the learning round.
#[derive(Clone, Default)]
struct Moved {
    /// In place of the penultimate node of the learning round.
    last: Option<Node>,
    /// Behind it.
    appended: Vec<Node>,
}

impl Moved {
    fn step(&mut self, rng: &mut SplitMix, nodes: &mut Node) {
        let mut fresh = || {
            *nodes += 1;
            *nodes - 1
        };
        if rng.unit() < REPLACE_ODDS {
            match self.appended.last_mut() {
                Some(last) => *last = fresh(),
                None => self.last = Some(fresh()),
            }
        }
        if rng.unit() < APPEND_ODDS {
            self.appended.push(fresh());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw;
    use crate::redstop::topology::Size;

    #[test]
    fn cycles_drift_away_from_the_learning_round() {
        let topology = Topology::new(Size::TENTH, &mut draw::stream(1, &[0]));
        let (cycles, nodes) = cycles(&topology, 3, &mut draw::stream(1, &[1]));
        let same = |cycle: &Cycle| {
            let kept = cycle.traces().zip(cycles[0].traces()).filter(|(now, then)| now == then).count();
            kept as f64 / cycle.len() as f64
        };
        let expected = (1.0 - REPLACE_ODDS) * (1.0 - APPEND_ODDS);
        assert_eq!(same(&cycles[0]), 1.0);
        // Six standard deviations of 1,000 destinations.
        assert!((same(&cycles[1]) - expected).abs() < 0.073, "{}", same(&cycles[1]));
        assert!((same(&cycles[2]) - expected.powi(2)).abs() < 0.09, "{}", same(&cycles[2]));
        assert!(cycles.iter().flat_map(Cycle::traces).flatten().all(|&node| (node as usize) < nodes));
    }

    #[test]
    fn links_are_pairs_of_neighbours() {
        // Two traces, 1-2-3 and 0-1-2.
        let cycle = Cycle { hops: vec![1, 2, 3, 0, 1, 2], ends: vec![3, 6] };
        assert_eq!(cycle.links(), (vec![0, 1, u32::MAX, 2, 0, u32::MAX], 3));
        assert_eq!(cycle.mean_hops(), 3.0);
    }
}
