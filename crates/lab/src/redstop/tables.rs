//! The tables of the case study. None of them can agree with the paper, whose traces we do not have.

use seenit_filter::retouch::Algorithm;

use super::printed::{ALL, LIST, STOPS};
use super::{ALGORITHMS, BETA, BETAS, CYCLES, Measured, Results, Spread};
use crate::account::{Table, Verdict};

/// Said with every table.
pub(super) const SYNTHETIC: &str = "Synthetic traces: the printed numbers are of measured ones and cannot be \
                                    reproduced exactly.";

pub(super) fn all(results: &Results) -> Vec<Table> {
    let mut tables = vec![network(results), beside(results)];
    for &k in &results.k {
        tables.push(by_size(results, k));
        tables.push(by_beta(results, k));
    }
    tables.push(over_cycles(results));
    tables.push(missed(results));
    tables.push(improved(results));
    tables
}

/// A table of ours.
fn ours(title: String, head: &[&str], rows: Vec<Vec<String>>, summary: String) -> Table {
    let head = head.iter().map(|&head| head.to_owned()).collect();
    Table { title, head, rows, verdict: Verdict::Ours, summary }
}

/// The network and its traces.
fn network(results: &Results) -> Table {
    let world = &results.world;
    let others = world.learned.others().count();
    let once =
        world.learned.others().filter(|&node| world.learned.troublesomeness[node as usize] == 1).count();
    let row = |what: &str, ours: String, printed: &str| vec![what.to_owned(), ours, printed.to_owned()];
    let rows = vec![
        row("monitors", results.size.monitors.to_string(), "10"),
        row("destinations", results.size.destinations.to_string(), "10000"),
        row("addresses in the stop set", world.learned.size.to_string(), &STOPS.to_string()),
        row("other nodes seen in the learning round", others.to_string(), "-"),
        row("of these on a single trace", once.to_string(), "-"),
        row("mean nodes of a trace", format!("{:.1}", world.learning.mean_hops()), "-"),
    ];
    ours(
        "The synthetic network".into(),
        &["", "ours", "printed"],
        rows,
        format!(
            "{SYNTHETIC} The sizes are inputs, and so is how often destinations move between two cycles; they lean \
             on what the paper prints. One was corrected after a look at results: the odds of a node behind the \
             last hop were 0.06, with which the list stopped short in 0.064 of traces and not in the printed \
             0.0936, and are 0.095 now; with 0.06 and k = 1 retouching reduced stopping short by 87 to 91 %, \
             outside of what is judged as the printed 76 to 84 %, one printed number fewer lay in our range, and with \
             k = 5 improved selection was ahead in one size fewer. What follows is how the implementations compare \
             on the same traces{}.",
            if results.size == super::Size::PAPER {
                ""
            } else {
                "; this is the quick version, of a tenth of the size"
            }
        ),
    )
}

/// The printed values beside ours.
fn beside(results: &Results) -> Table {
    let list = &results.list[1];
    let mut rows: Vec<Vec<String>> =
        [("success", list.success), ("short", list.short), ("collision", list.collision)]
            .iter()
            .zip(LIST)
            .map(|((what, ours), printed)| {
                let ours = results.k.iter().map(|_| format!("{ours:.4}"));
                [format!("list: {what} (an input)"), format!("{printed:.4}")]
                    .into_iter()
                    .chain(ours)
                    .collect()
            })
            .collect();
    let mut within = vec![0; results.k.len()];
    for printed in &ALL {
        let mut cells = vec![printed.what.to_owned(), format!("{}", printed.value)];
        for (number, &k) in results.k.iter().enumerate() {
            let spread = (printed.ours)(results, k);
            within[number] += usize::from((spread.min..=spread.max).contains(&printed.value));
            cells.push(range(&spread));
        }
        rows.push(cells);
    }
    let heads = results.k.iter().map(|k| format!("k = {k}: mean (range)"));
    let counted: Vec<String> =
        results.k.iter().zip(&within).map(|(k, within)| format!("{within} with k = {k}")).collect();
    Table {
        title: "The case study: printed values beside ours".into(),
        head: ["", "printed"].map(String::from).into_iter().chain(heads).collect(),
        rows,
        verdict: if within.contains(&ALL.len()) { Verdict::Agrees } else { Verdict::Differs },
        summary: format!(
            "{SYNTHETIC} Of {} printed numbers this many lie in the range of our {} hash seeds: {}. The paper does \
             not say its k; it also contradicts itself (peak success 0.642 and 0.7218; rates that sum to 1.01 and \
             1.04).",
            ALL.len(),
            results.rounds,
            counted.join(", ")
        ),
    }
}

/// Figures 13, 15 and 17 as a table.
fn by_size(results: &Results, k: u32) -> Table {
    let row = |&bits: &u64| {
        let bloom = results.filter(k, bits, None);
        let mut cells = vec![bits.to_string()];
        cells.extend([range(&bloom.of(|s| s.rates.success)), three(bloom.short()), three(bloom.collision())]);
        for beta in BETAS {
            cells.push(three(results.filter(k, bits, Some((Algorithm::Ratio, beta))).success()));
        }
        let last = results.filter(k, bits, Some((Algorithm::Ratio, BETA)));
        cells.extend([three(last.short()), three(last.collision()), three(last.of(|s| s.stops_lost).mean)]);
        cells
    };
    let list = &results.list[1];
    ours(
        format!(
            "k = {k}: success, stopping short and collision by the size of the filter (Figures 13, 15, 17)"
        ),
        &[
            "m",
            "Bloom success",
            "short",
            "collision",
            "1 % success",
            "5 %",
            "10 %",
            "25 %",
            "25 % short",
            "25 % collision",
            "stops lost",
        ],
        results.bits.iter().map(row).collect(),
        format!(
            "Synthetic traces. The list has success {:.3}, short {:.3}, collision {:.3}. Columns with a per cent \
             are of filters from which so many of the false positives were retouched away, the most troublesome \
             first (Ratio).",
            list.success, list.short, list.collision
        ),
    )
}

/// Figure 18 as a table.
fn by_beta(results: &Results, k: u32) -> Table {
    let shown: Vec<f64> = results
        .sweep
        .iter()
        .copied()
        .filter(|beta| ((beta * 100.0).round() as u32).is_multiple_of(5) || *beta <= 0.02)
        .collect();
    let row = |measured: &Measured, name: String| {
        vec![
            name,
            range(&measured.of(|s| s.rates.success)),
            range(&measured.of(|s| s.rates.short)),
            range(&measured.of(|s| s.rates.collision)),
            three(measured.of(|s| s.stops_lost).mean),
        ]
    };
    let mut rows = vec![row(results.filter(k, results.pivot(), None), "0 %".into())];
    rows.extend(shown.iter().map(|&beta| {
        let measured = results.filter(k, results.pivot(), Some((Algorithm::Ratio, beta)));
        row(measured, format!("{:.0} %", beta * 100.0))
    }));
    let (beta, success) = peak(results, k);
    ours(
        format!("k = {k}: the same by beta, m = {} (Figure 18)", results.pivot()),
        &["beta", "success", "short", "collision", "stops lost"],
        rows,
        format!("Synthetic traces. Mean success peaks at {success:.3}, with beta {:.0} %.", beta * 100.0),
    )
}

/// The beta with the largest mean success at the pivotal size, and that success.
pub(super) fn peak(results: &Results, k: u32) -> (f64, f64) {
    let success = |beta: f64| results.filter(k, results.pivot(), Some((Algorithm::Ratio, beta))).success();
    let all = results.sweep.iter().map(|&beta| (beta, success(beta)));
    all.max_by(|a, b| a.1.total_cmp(&b.1)).expect("some beta was tried")
}

/// Figure 19 as a table.
fn over_cycles(results: &Results) -> Table {
    let mut rows = Vec::new();
    for cycle in 0..=CYCLES {
        let rates = &results.list[cycle];
        let name = if cycle == 0 { "learning".to_owned() } else { cycle.to_string() };
        let mut cells = vec![name, three(rates.success), three(rates.short), three(rates.collision)];
        for &k in &results.k {
            cells.extend(match cycle {
                0 => vec!["-".to_owned(); 3],
                _ => {
                    let measured = results.later(k, results.pivot(), Some((Algorithm::Ratio, BETA)), cycle);
                    vec![three(measured.success()), three(measured.short()), three(measured.collision())]
                }
            });
        }
        rows.push(cells);
    }
    let mut head: Vec<String> = ["cycle", "list success", "short", "collision"].map(String::from).to_vec();
    for &k in &results.k {
        head.extend([format!("k = {k} success"), "short".into(), "collision".into()]);
    }
    Table {
        title: format!("Ten cycles: the list, and the filter retouched at 25 %, m = {} (Figure 19)", results.pivot()),
        head,
        rows,
        verdict: Verdict::Ours,
        summary: "Synthetic traces. As many destinations move between any two cycles, so success falls in a \
                  geometric series; how fast is our choice, that both fall alike is not. In the learning round \
                  itself the list does not collide, but it stops short where a destination hangs on a router that \
                  lies on the way to others."
            .into(),
    }
}

/// Figure 16 as a table.
fn missed(results: &Results) -> Table {
    let mut rows = Vec::new();
    for &k in &results.k {
        for &bits in &results.bits {
            let mut cells = vec![k.to_string(), bits.to_string()];
            let of = |retouched| {
                let measured = results.filter(k, bits, retouched);
                let (nodes, links) = missed_of_list(measured);
                [three(nodes.mean), three(links.mean)]
            };
            cells.extend(of(None));
            for beta in [BETAS[0], BETA] {
                cells.extend(of(Some((Algorithm::Ratio, beta))));
            }
            rows.push(cells);
        }
    }
    let (nodes, links) = results.list_missed;
    ours(
        "Nodes and links missed by stopping short (Figure 16)".into(),
        &["k", "m", "Bloom nodes", "links", "1 % nodes", "links", "25 % nodes", "links"],
        rows,
        format!(
            "Synthetic traces. Shares of what the list's round sees, as in the paper; the list itself misses {:.1} \
             % of the nodes and {:.1} % of the links of full traces. Destinations are not counted.",
            100.0 * nodes,
            100.0 * links
        ),
    )
}

/// Shares of nodes and links missed of what the list sees.
pub(super) fn missed_of_list(measured: &Measured) -> (Spread, Spread) {
    let of = |which: fn((f64, f64)) -> f64| measured.of(|sample| sample.missed_of_list.map_or(0.0, which));
    (of(|(nodes, _)| nodes), of(|(_, links)| links))
}

/// Figures 20 to 22 as a table.
fn improved(results: &Results) -> Table {
    let mut rows = Vec::new();
    for &k in &results.k {
        for &bits in &results.bits {
            let mut cells = vec![k.to_string(), bits.to_string()];
            for beta in [BETAS[0], BETA] {
                for algorithm in ALGORITHMS {
                    let measured = results.filter(k, bits, Some((algorithm, beta)));
                    cells.extend([three(measured.success()), three(measured.collision())]);
                }
            }
            rows.push(cells);
        }
    }
    ours(
        "Ratio and Improved Ratio (Figures 20 to 22)".into(),
        &[
            "k", "m", "1 % success", "collision", "improved", "collision", "25 % success", "collision", "improved",
            "collision",
        ],
        rows,
        "Synthetic traces. With k = 1 a key has one bit and there is nothing to choose: both clear the same bits. \
         The paper shows a difference, so either its k was not 1 there or its filters differed in more than the \
         algorithm."
            .into(),
    )
}

/// A rate in three digits.
pub(super) fn three(rate: f64) -> String {
    format!("{rate:.3}")
}

/// Mean and range.
pub(super) fn range(spread: &Spread) -> String {
    let digits = if spread.max > 1.5 { 1 } else { 3 };
    format!("{:.digits$} ({:.digits$} to {:.digits$})", spread.mean, spread.min, spread.max)
}
