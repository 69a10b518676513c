//! What needs no rounds: the rates of Table I, the counters of Table II, and the example of two servers that merge.

use rayon::prelude::*;
use seenit_filter::cells::{Cells, CellsMut, PackedCells, Packing};
use seenit_filter::counting::{CountingFilter, Intuitive, Refined, Rule};
use seenit_filter::hash::SipKey;
use seenit_filter::maths::flat;
use seenit_filter::{Filter, Flat, HugePages};

use super::simulate::{Stream, stream_of};
use super::tables::{cells, grouped, sci};
use crate::account::{Table, Verdict};
use crate::bench::{Bench, LabError};

/// Table I: bits a signature, k, compression rate, and the false-positive rate as printed.
const TABLE_ONE: [(u64, u32, &str, &str); 5] = [
    (16, 4, "10", "2.394e-3"),
    (10, 8, "16", "8.455e-3"),
    (16, 8, "10", "5.745e-4"),
    (40, 8, "4", "1.166e-6"),
    (40, 16, "4", "1.948e-8"),
];

/// Bits of a signature without a filter.
const SIGNATURE_BITS: u64 = 160;

/// Table II: three counters after 0 to 4 reports, intuitive and refined.
const TABLE_TWO: [([u64; 3], [u64; 3]); 5] = [
    ([1, 1, 0], [1, 1, 0]),
    ([2, 2, 1], [1, 1, 1]),
    ([3, 3, 2], [2, 2, 2]),
    ([4, 4, 3], [3, 3, 3]),
    ([5, 5, 4], [4, 4, 4]),
];

/// The counters of a message at two servers, and what the paper says of their sum: now, and after one more report at
/// each, intuitive and refined.
const SERVERS: [[u64; 3]; 2] = [[2, 5, 8], [4, 4, 3]];
const MERGED: [[u64; 3]; 3] = [[6, 9, 11], [8, 11, 13], [7, 9, 12]];

/// Bits of a cell in the text.
const CELL_BITS: u32 = 5;

/// Table I by formula, and by filters that were filled and asked.
pub(super) fn table_one(bench: &Bench<'_>) -> Result<Table, LabError> {
    let signatures = bench.choose(100_000, 10_000);
    let queries = bench.choose(4_000_000u64, 200_000);
    let measured = TABLE_ONE.par_iter().map(|&(bits, k, ..)| {
        let mut rng = stream_of(bench.seed, Stream::Sizes, &[bits, u64::from(k)]);
        let layout = Flat::new(bits * signatures, k)?;
        let mut filter = Filter::new(layout, None, SipKey::public().fingerprint(), HugePages::Default)?;
        (0..signatures).for_each(|_| filter.insert(rng.hash()));
        Ok((0..queries).filter(|_| filter.contains(rng.hash())).count() as f64)
    });
    let measured = measured.collect::<Result<Vec<f64>, LabError>>()?;
    let mut rows = Vec::new();
    let mut alike = 0;
    let mut farthest = 0f64;
    for (&(bits, k, compression, printed), hits) in TABLE_ONE.iter().zip(measured) {
        let formula = flat::rate_in_the_limit(bits as f64, k);
        let ratio = SIGNATURE_BITS / bits;
        alike += usize::from(sci(formula) == printed && ratio.to_string() == compression);
        let expected = flat::rate(bits * signatures, k, signatures) * queries as f64;
        farthest = farthest.max((hits - expected).abs() / expected.max(1.0).sqrt());
        let seen = format!("{hits} of {}", grouped(queries));
        rows.push(cells([
            &bits,
            &k,
            &ratio,
            &compression,
            &sci(formula),
            &printed,
            &seen,
            &format!("{expected:.1}"),
        ]));
    }
    let verdict = if alike == TABLE_ONE.len() { Verdict::Agrees } else { Verdict::Differs };
    Ok(Table {
        title: "Table I: rates and compression of plain filters".into(),
        head: cells([
            &"m/n",
            &"k",
            &"CR",
            &"printed",
            &"formula",
            &"printed",
            &"strangers found",
            &"expected",
        ]),
        rows,
        verdict,
        summary: format!(
            "{alike} of {} rates and compression rates as printed, to all digits. Filters of {} signatures found \
             strangers as often as expected within {farthest:.1} standard deviations.",
            TABLE_ONE.len(),
            grouped(signatures)
        ),
    })
}

fn three_cells(values: [u64; 3]) -> Result<PackedCells, LabError> {
    let mut cells = PackedCells::zeroed(Packing::new(CELL_BITS)?, 3, HugePages::Default)?;
    values.into_iter().zip(0..).for_each(|(value, cell)| cells.set(cell, value));
    Ok(cells)
}

/// Three cells after one report more.
fn reported<R: Rule>(values: [u64; 3]) -> Result<[u64; 3], LabError> {
    let mut cells = three_cells(values)?;
    R::add(&mut cells, &[0, 1, 2], 1);
    Ok([0, 1, 2].map(|cell| cells.get(cell)))
}

/// Table II by the rules themselves.
pub(super) fn table_two() -> Result<Table, LabError> {
    let mut intuitive = TABLE_TWO[0].0;
    let mut refined = TABLE_TWO[0].1;
    let mut rows = Vec::new();
    let mut alike = 0;
    for (reports, printed) in TABLE_TWO.into_iter().enumerate() {
        if reports > 0 {
            (intuitive, refined) =
                (self::reported::<Intuitive>(intuitive)?, self::reported::<Refined>(refined)?);
        }
        alike += usize::from((intuitive, refined) == printed);
        let counters = [intuitive, printed.0, refined, printed.1].map(spaced);
        rows.push(cells([&reports, &counters[0], &counters[1], &counters[2], &counters[3]]));
    }
    Ok(Table {
        title: "Table II: counters of one message, report by report".into(),
        head: cells([&"reports", &"intuitive", &"printed", &"refined", &"printed"]),
        verdict: if alike == rows.len() { Verdict::Agrees } else { Verdict::Differs },
        summary: format!("{alike} of {} rows as printed.", rows.len()),
        rows,
    })
}

fn spaced(counters: [u64; 3]) -> String {
    counters.map(|counter| counter.to_string()).join(" ")
}

/// Both servers' cells added, each after `report` did with them what it does.
fn merged<R: Rule>(
    report: impl Fn([u64; 3]) -> Result<[u64; 3], LabError>,
) -> Result<([[u64; 3]; 2], [u64; 3]), LabError> {
    let servers = [report(SERVERS[0])?, report(SERVERS[1])?];
    let filter = |values| -> Result<_, LabError> {
        let fingerprint = SipKey::public().fingerprint();
        Ok(CountingFilter::<R, _>::new(Flat::new(3, 3)?, three_cells(values)?, None, fingerprint)?)
    };
    let mut sum = filter(servers[0])?;
    sum.merge(&filter(servers[1])?).expect("both were made alike");
    Ok((servers, [0, 1, 2].map(|cell| sum.cells().get(cell))))
}

/// The example of two servers.
pub(super) fn example_of_merging() -> Result<Table, LabError> {
    let cases = [
        ("as they are", merged::<Intuitive>(Ok)?),
        ("one report more at each, intuitive", merged::<Intuitive>(reported::<Intuitive>)?),
        ("one report more at each, refined", merged::<Refined>(reported::<Refined>)?),
    ];
    let alike = cases.iter().zip(MERGED).filter(|((_, (_, sum)), printed)| sum == printed).count();
    let rows = cases.iter().zip(MERGED).map(|((name, ([a, b], sum)), printed)| {
        let least = |counters: &[u64; 3]| counters.iter().copied().min().unwrap_or(0);
        let [a_says, b_says, says] = [a, b, sum].map(least);
        let parts = format!("{a_says} + {b_says}");
        cells([name, &spaced(*a), &spaced(*b), &parts, &spaced(*sum), &says, &spaced(printed)])
    });
    Ok(Table {
        title: "Section IV: two servers merge their counters".into(),
        head: cells([&"", &"server a", &"server b", &"counts", &"merged", &"counts", &"printed"]),
        rows: rows.collect(),
        verdict: if alike == cases.len() { Verdict::Agrees } else { Verdict::Differs },
        summary: format!(
            "{alike} of {} sums as printed. Adding cells counts more than the two servers together, also with the \
             refined rule: never less than the truth, but not what one filter of all reports would say.",
            cases.len()
        ),
    })
}
