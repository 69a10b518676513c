//! The pages an operation touches, counted from the positions of keys, beside the formula.

use rayon::prelude::*;
use seenit_filter::Layout;
use seenit_filter::PAGE_BITS;
use seenit_filter::hash::Hash128;

use super::printed;
use super::{Row, STREAM, Variant};
use crate::account::{Account, Finding, Outcome, Table, Verdict};
use crate::bench::{Bench, LabError};
use crate::draw;
use crate::figure::{Axis, Figure, Series};
use crate::interval::critical_z;

/// Pages of the filters: one, and then tenfold up to 4 GB. No memory is needed to know where bits would lie.
const PAGES: [u64; 7] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000];

/// Fewer bits a key than this that share a page with another are rare.
const RARELY_SHARED: f64 = 0.1;

/// Half a unit of the last digit that the paper prints.
const ROUNDING: f64 = 0.05;

/// Pages touched by a number of keys.
struct Counted {
    pages: u64,
    variant: Variant,
    mean: f64,
    error: f64,
    theory: f64,
}

pub(super) fn run(bench: &Bench<'_>) -> Result<Outcome<Row>, LabError> {
    let keys = bench.choose(1_000_000, 20_000);
    bench.progress.begin("counting pages", PAGES.len() as u64 * 2);
    let filters: Vec<_> =
        PAGES.iter().flat_map(|&pages| Variant::BOTH.map(|variant| (pages, variant))).collect();
    let counted = filters
        .par_iter()
        .map(|&(pages, variant)| {
            let counted = count(pages, variant, keys, bench)?;
            bench.progress.advance(1);
            Ok(counted)
        })
        .collect::<Result<Vec<_>, LabError>>()?;
    let row = |one: &Counted| Row {
        pages_touched: Some(one.mean),
        operations: keys,
        theory: Some(one.theory),
        paper: paper(one),
        ..one.variant.row("touched", "member", one.pages)
    };
    Ok(Outcome { rows: counted.iter().map(row).collect(), account: account(&counted, keys) })
}

fn count(pages: u64, variant: Variant, keys: u64, bench: &Bench<'_>) -> Result<Counted, LabError> {
    let layout = variant.layout(pages)?;
    let mut rng = draw::stream(bench.seed, &[STREAM, 4, pages]);
    let mut sum = 0;
    let mut squares = 0;
    for _ in 0..keys {
        let touched = distinct_pages(&layout, rng.hash(), layout.probes());
        sum += touched;
        squares += touched * touched;
    }
    let mean = sum as f64 / keys as f64;
    let theory = layout.expected_pages();
    // Where two bits hardly ever share a page, how often they do is Poisson, and none at all is no proof of never.
    let shared = layout.probes() as f64 - theory;
    let seen = (squares as f64 / keys as f64 - mean * mean).max(0.0);
    let variance = if shared < RARELY_SHARED { shared } else { seen };
    Ok(Counted { pages, variant, mean, error: (variance / keys as f64).sqrt(), theory })
}

/// The distinct pages of a key's first so many probes.
pub(super) fn distinct_pages(layout: &impl Layout, hash: Hash128, probes: usize) -> u64 {
    let page = |probe| layout.position(hash, probe) / PAGE_BITS;
    (0..probes).filter(|&probe| (0..probe).all(|earlier| page(earlier) != page(probe))).count() as u64
}

fn paper(one: &Counted) -> Option<f64> {
    match one.variant {
        Variant::Standard => {
            printed::PAGES_TOUCHED.iter().find(|(pages, _)| *pages == one.pages).map(|(_, touched)| *touched)
        }
        Variant::Paged => Some(1.0),
    }
}

fn account(counted: &[Counted], keys: u64) -> Account {
    let of = |variant| counted.iter().filter(move |one| one.variant == variant);
    let critical = critical_z(PAGES.len());
    let off = |one: &Counted, value: f64, slack: f64| (one.mean - value).abs() > critical * one.error + slack;
    // A mean without spread still has the error of its last digits.
    let as_formula = of(Variant::Standard).all(|one| !off(one, one.theory, 1e-9));
    let as_printed =
        of(Variant::Standard).all(|one| paper(one).is_none_or(|printed| !off(one, printed, ROUNDING)));
    let always_one = of(Variant::Paged).all(|one| one.mean == 1.0);
    let rows = of(Variant::Standard).zip(of(Variant::Paged)).map(|(standard, paged)| {
        vec![
            standard.pages.to_string(),
            format!("{:.4}", standard.mean),
            format!("{:.4}", critical * standard.error),
            format!("{:.4}", standard.theory),
            paper(standard).map_or(String::new(), |printed| format!("{printed:.1}")),
            format!("{:.4}", paged.mean),
            "1".to_owned(),
        ]
    });
    let holds = as_formula && as_printed && always_one;
    let table = Table {
        title: "Distinct pages that an insertion, or the lookup of a member, touches, k = 7".into(),
        head: ["pages", "standard", "+-", "formula", "printed", "paged", "printed"]
            .map(str::to_owned)
            .to_vec(),
        rows: rows.collect(),
        verdict: if holds { Verdict::Agrees } else { Verdict::Differs },
        summary: format!(
            "{keys} keys for each size; +- is for the confidence of 99 % in all sizes together. Standard \
             {} the formula, paged is {}.",
            if as_formula { "agrees with" } else { "differs from" },
            if always_one { "one page, always" } else { "not always one page" },
        ),
    };
    let at = |variant, pages| of(variant).find(|one| one.pages == pages).map_or(f64::NAN, |one| one.mean);
    let finding = Finding::new(
        "An operation touches one page, where a standard filter of 10 pages touches 5.2 and one of 100 pages 6.8",
        holds,
        format!(
            "{} against {:.2} and {:.2}. (A lookup of a stranger ends at the first unset bit and touches \
             fewer: see the faults.)",
            at(Variant::Paged, 10),
            at(Variant::Standard, 10),
            at(Variant::Standard, 100),
        ),
    );
    Account { tables: vec![table], figures: vec![figure(counted)], findings: vec![finding] }
}

fn figure(counted: &[Counted]) -> Figure {
    let points = |variant, value: fn(&Counted) -> f64| {
        let of = counted.iter().filter(move |one| one.variant == variant);
        of.map(move |one| (one.pages as f64, value(one))).collect::<Vec<_>>()
    };
    Figure {
        title: "Pages touched".into(),
        caption: "Distinct pages that the seven bits of a key lie in, counted, and the formula. From 100 \
                  pages (400 KiB) on nearly every bit of a standard filter is in a page of its own."
            .into(),
        x: Axis::log("pages of the filter"),
        y: Axis::linear("pages an operation touches"),
        series: vec![
            Series::points("standard", points(Variant::Standard, |one| one.mean)),
            Series::points("paged", points(Variant::Paged, |one| one.mean)),
            Series::dashed("formula", points(Variant::Standard, |one| one.theory)).like("standard"),
        ],
    }
}
