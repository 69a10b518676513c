//! A synthetic network with the features that matter to a red stop set. The paper's measured traces are not available.
//!
//! Routers form a core (preferential attachment) with a random tree on it; edge routers hang on the tree, and
//! destinations on edge routers. Each monitor looks at it through a chain of hops of its own.

use seenit_filter::random::SplitMix;

/// The sizes of a network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Size {
    pub(super) monitors: usize,
    pub(super) destinations: usize,
    /// Routers of the core.
    pub(super) core: usize,
    /// Routers of the tree on it.
    pub(super) tree: usize,
    /// Edge routers that destinations are drawn to, with replacement.
    pub(super) edges: usize,
    /// Destinations that hang on a router of the tree, which is then in the stop set and lies on the way to others.
    pub(super) transit: usize,
}

impl Size {
    /// Monitors and destinations are the paper's. Nodes of a tree of 2,000 are some eight links deep, which with core
    /// and chain makes traces of thirteen hops. Of 21,500 edge routers about 8,000 serve a destination, as many as
    /// the paper's stop set has addresses. Ten transit routers stop a few per cent of all traces short.
    pub(super) const PAPER: Size =
        Size { monitors: 10, destinations: 10_000, core: 50, tree: 2000, edges: 21_500, transit: 10 };

    /// A tenth of the destinations, for tests.
    pub(super) const TENTH: Size =
        Size { monitors: 10, destinations: 1000, core: 20, tree: 200, edges: 2150, transit: 2 };
}

/// Links a router of the core makes to those before it: two, so that there is a way around.
const CORE_LINKS: usize = 2;

/// Hops between a monitor and the core, which all its traces share: false positives among them hurt most.
const CHAIN: usize = 5;

/// The odds that a monitor's trace meets, before an edge router, an interface that no other monitor sees. They make the
/// long tail of nodes that are on a single trace: about 30,000 in all, as the paper's loss of stops at beta
/// 100 % suggests.
const ACCESS_ODDS: f64 = 0.35;

/// A node's number; numbers are dense.
pub(super) type Node = u32;

/// A network as its monitors see it.
pub(super) struct Topology {
    pub(super) size: Size,
    /// From each monitor to each destination, monitor by monitor: the nodes in between, the last one being the
    /// penultimate node of the trace.
    pub(super) paths: Vec<Vec<Node>>,
    /// Nodes so far.
    pub(super) nodes: Node,
}

impl Topology {
    pub(super) fn new(size: Size, rng: &mut SplitMix) -> Topology {
        let links = routers(size, rng);
        let mut nodes = links.len() as Node;
        let mut fresh = || {
            nodes += 1;
            nodes - 1
        };
        let edges: Vec<(Node, Node)> =
            (0..size.edges).map(|_| (fresh(), rng.below(links.len() as u64) as Node)).collect();
        let homes: Vec<Home> = (0..size.destinations).map(|number| home(size, number, rng)).collect();
        let mut paths = Vec::with_capacity(size.monitors * size.destinations);
        for _ in 0..size.monitors {
            let chain: Vec<Node> = (0..CHAIN).map(|_| fresh()).collect();
            let parents = shortest(&links, rng.below(size.core as u64) as Node);
            let access: Vec<Option<Node>> =
                edges.iter().map(|_| (rng.unit() < ACCESS_ODDS).then(&mut fresh)).collect();
            paths.extend(homes.iter().map(|home| {
                let mut path = chain.clone();
                match *home {
                    Home::Transit(router) => way(&parents, router, &mut path),
                    Home::Edge(edge) => {
                        let (node, router) = edges[edge];
                        way(&parents, router, &mut path);
                        path.extend(access[edge]);
                        path.push(node);
                    }
                }
                path
            }));
        }
        Topology { size, paths, nodes }
    }
}

/// What a destination hangs on.
enum Home {
    Transit(Node),
    Edge(usize),
}

fn home(size: Size, number: usize, rng: &mut SplitMix) -> Home {
    match number < size.transit {
        true => Home::Transit((size.core as u64 + rng.below(size.tree as u64)) as Node),
        false => Home::Edge(rng.below(size.edges as u64) as usize),
    }
}

/// The routers' neighbours: those of the core first, then the tree's, each of which hangs on any router before it.
fn routers(size: Size, rng: &mut SplitMix) -> Vec<Vec<Node>> {
    let mut links = vec![Vec::new(); size.core + size.tree];
    // A router is in here once for each of its links, so a draw prefers those that have many.
    let mut ends: Vec<Node> = vec![0];
    for router in 1..size.core {
        for _ in 0..CORE_LINKS.min(router) {
            let other = ends[rng.below(ends.len() as u64) as usize];
            join(&mut links, router as Node, other);
            ends.push(other);
        }
        ends.extend([router as Node; CORE_LINKS]);
    }
    for router in size.core..size.core + size.tree {
        join(&mut links, router as Node, rng.below(router as u64) as Node);
    }
    links
}

fn join(links: &mut [Vec<Node>], one: Node, other: Node) {
    links[one as usize].push(other);
    links[other as usize].push(one);
}

/// The router before each on a shortest way from `start`; that of `start` is itself.
fn shortest(links: &[Vec<Node>], start: Node) -> Vec<Node> {
    let mut parents = vec![Node::MAX; links.len()];
    parents[start as usize] = start;
    let mut queue = std::collections::VecDeque::from([start]);
    while let Some(router) = queue.pop_front() {
        for &next in &links[router as usize] {
            if parents[next as usize] == Node::MAX {
                parents[next as usize] = router;
                queue.push_back(next);
            }
        }
    }
    parents
}

/// Appends the way from the start of `parents` to `router`, both included.
fn way(parents: &[Node], router: Node, path: &mut Vec<Node>) {
    let mut at = router;
    let from = path.len();
    loop {
        path.push(at);
        let before = parents[at as usize];
        if before == at {
            break;
        }
        at = before;
    }
    path[from..].reverse();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw;

    #[test]
    fn traces_share_a_chain_and_have_no_loops() {
        let topology = Topology::new(Size::TENTH, &mut draw::stream(1, &[]));
        assert_eq!(topology.paths.len(), 10 * 1000);
        for (number, path) in topology.paths.iter().enumerate() {
            let first = &topology.paths[number / 1000 * 1000];
            assert_eq!(path[..CHAIN], first[..CHAIN], "the monitor's chain");
            assert!(path.len() > CHAIN && path.len() < 40, "{path:?}");
            let mut nodes = path.clone();
            nodes.sort_unstable();
            nodes.dedup();
            assert_eq!(nodes.len(), path.len(), "a loop in {path:?}");
        }
    }

    #[test]
    fn shortest_ways_are_shortest() {
        let mut links = vec![Vec::new(); 5];
        [(0, 1), (1, 2), (2, 3), (0, 3), (3, 4)].into_iter().for_each(|(a, b)| join(&mut links, a, b));
        let mut path = vec![9];
        way(&shortest(&links, 0), 4, &mut path);
        assert_eq!(path, [9, 0, 3, 4]);
    }
}
