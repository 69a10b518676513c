//! A probing round: every trace is walked until a node is in the stop set.

use super::traces::Cycle;

/// How the traces of a round ended, as shares.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Rates {
    /// At the penultimate node.
    pub(super) success: f64,
    /// Before it.
    pub(super) short: f64,
    /// At the destination.
    pub(super) collision: f64,
}

/// The traces of a cycle with what is needed to tell what a round did not see.
pub(super) struct Round {
    pub(super) cycle: Cycle,
    links: Vec<u32>,
    /// Nodes and links of the full traces.
    all: Seen,
}

/// Nodes and links that were seen.
#[derive(Clone)]
pub(super) struct Seen {
    nodes: Vec<bool>,
    links: Vec<bool>,
}

/// How the traces of a cycle end when `positive` says which nodes are in the stop set.
pub(super) fn rates(cycle: &Cycle, positive: &[bool]) -> Rates {
    let mut success = 0u64;
    let mut short = 0u64;
    for trace in cycle.traces() {
        match trace.iter().position(|&node| positive[node as usize]) {
            Some(hop) if hop + 1 == trace.len() => success += 1,
            Some(_) => short += 1,
            None => {}
        }
    }
    let share = |traces: u64| traces as f64 / cycle.len() as f64;
    let collision = cycle.len() as u64 - success - short;
    Rates { success: share(success), short: share(short), collision: share(collision) }
}

impl Round {
    pub(super) fn new(cycle: Cycle, nodes: usize) -> Round {
        let (links, count) = cycle.links();
        let nobody = Seen { nodes: vec![false; nodes], links: vec![false; count] };
        let mut round = Round { cycle, links, all: nobody };
        round.all = round.seen(&vec![false; nodes]);
        round
    }

    /// What full traces see.
    pub(super) fn all(&self) -> &Seen {
        &self.all
    }

    /// What is seen when `positive` says where traces stop. A node at which a trace stops was seen; destinations are
    /// not counted, for they are known.
    pub(super) fn seen(&self, positive: &[bool]) -> Seen {
        let mut seen =
            Seen { nodes: vec![false; self.all.nodes.len()], links: vec![false; self.all.links.len()] };
        let mut first = 0;
        for trace in self.cycle.traces() {
            for (hop, &node) in trace.iter().enumerate() {
                seen.nodes[node as usize] = true;
                if positive[node as usize] || hop + 1 == trace.len() {
                    break;
                }
                seen.links[self.links[first + hop] as usize] = true;
            }
            first += trace.len();
        }
        seen
    }
}

impl Seen {
    /// The shares of the nodes and of the links of `all` that are not in here.
    pub(super) fn missed(&self, all: &Seen) -> (f64, f64) {
        (missed(&self.nodes, &all.nodes), missed(&self.links, &all.links))
    }
}

fn missed(seen: &[bool], all: &[bool]) -> f64 {
    let there = all.iter().filter(|&&is| is).count();
    let gone = all.iter().zip(seen).filter(|(is, seen)| **is && !**seen).count();
    gone as f64 / there as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw;
    use crate::redstop::topology::{Size, Topology};
    use crate::redstop::traces::cycles;

    #[test]
    fn a_stop_set_of_nothing_collides_and_sees_all_and_one_of_everything_sees_the_first_hops() {
        let topology = Topology::new(Size::TENTH, &mut draw::stream(2, &[0]));
        let (mut cycles, nodes) = cycles(&topology, 1, &mut draw::stream(2, &[1]));
        let round = Round::new(cycles.remove(0), nodes);
        let nothing = vec![false; nodes];
        let everything = vec![true; nodes];
        assert_eq!(rates(&round.cycle, &nothing), Rates { success: 0.0, short: 0.0, collision: 1.0 });
        assert_eq!(rates(&round.cycle, &everything), Rates { success: 0.0, short: 1.0, collision: 0.0 });
        assert_eq!(round.seen(&nothing).missed(round.all()), (0.0, 0.0));
        let (nodes, links) = round.seen(&everything).missed(round.all());
        assert!(nodes > 0.99 && links == 1.0, "{nodes} {links}");
    }
}
