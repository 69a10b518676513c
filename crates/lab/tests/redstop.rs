//! The experiment `redstop` in its quick version: what holds for any traces, and what these synthetic ones must show.

use std::sync::LazyLock;

use seenit_lab::redstop::{Options, Row, run};
use seenit_lab::{Bench, LabError, Outcome, Verdict};

fn quick(threads: usize) -> Outcome<Row> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    let bench = Bench { quick: true, ..Bench::new(&()) };
    pool.install(|| run(&Options::default(), &bench)).expect("the experiment runs")
}

static QUICK: LazyLock<Outcome<Row>> = LazyLock::new(|| quick(2));

/// The size at which beta is varied: a tenth of the paper's 60,000.
const PIVOT: u64 = 6000;

fn filter(implementation: &str, k: u32, m: u64, beta: Option<f64>) -> &'static Row {
    let wanted = |row: &&Row| {
        row.implementation == implementation
            && (row.k, row.m, row.beta, row.cycle) == (Some(k), Some(m), beta, 1)
    };
    let mut found = QUICK.rows.iter().filter(wanted);
    let row = found.next().unwrap_or_else(|| panic!("no row {implementation} {k} {m} {beta:?}"));
    assert!(found.next().is_none(), "{row:?} is there twice");
    row
}

fn list(cycle: usize) -> &'static Row {
    QUICK.rows.iter().find(|row| row.implementation == "list" && row.cycle == cycle).expect("a row")
}

#[test]
fn the_three_rates_sum_to_one_and_lie_in_their_range() {
    for row in &QUICK.rows {
        assert!((row.success + row.short + row.collision - 1.0).abs() < 1e-9, "{row:?}");
        for (low, mean, high) in [
            (row.success_min, row.success, row.success_max),
            (row.short_min, row.short, row.short_max),
            (row.collision_min, row.collision, row.collision_max),
        ] {
            assert!(0.0 <= low && low <= mean + 1e-12 && mean <= high + 1e-12 && high <= 1.0, "{row:?}");
        }
        assert_eq!(row.nodes_missed.is_some(), row.cycle == 1, "{row:?}");
    }
}

/// Every trace of the learning round ends at a node that is in the set.
#[test]
fn the_list_does_not_collide_in_the_learning_round_but_stops_short() {
    assert_eq!(list(0).collision, 0.0);
    assert!(list(0).short > 0.0, "a penultimate node of one destination is on the way to another");
    // Then destinations move, and go on moving.
    for cycle in 1..=10 {
        assert!(list(cycle).success < list(cycle - 1).success, "{cycle}");
    }
    assert!((0.09..0.17).contains(&list(1).collision), "{:?}", list(1));
}

/// A filter without retouching has every member of the set, so it collides only where the list does.
#[test]
fn a_bloom_filter_never_collides_more_than_the_list() {
    for row in QUICK.rows.iter().filter(|row| row.implementation == "bloom") {
        assert!(row.collision_max <= list(row.cycle).collision, "{row:?}");
        assert!(row.short_min >= list(row.cycle).short, "{row:?}");
        assert_eq!((row.stops_lost, row.bits_cleared), (0.0, 0.0));
    }
}

#[test]
fn retouching_trades_stopping_short_for_collisions() {
    for k in [1, 5] {
        for m in [1000, 3000, PIVOT, 10_000] {
            let (bloom, quarter) = (filter("bloom", k, m, None), filter("rbf-ratio", k, m, Some(0.25)));
            assert!(quarter.short < bloom.short && quarter.collision > bloom.collision, "{quarter:?}");
            assert!(quarter.success > bloom.success, "{quarter:?} and {bloom:?}");
            assert!(quarter.nodes_missed_of_list <= bloom.nodes_missed_of_list, "{quarter:?}");
        }
        // The most troublesome go first, so the first per cent does most.
        let short = |beta| filter("rbf-ratio", k, PIVOT, Some(beta)).short;
        assert!(short(0.05) < short(0.01) && short(0.1) <= short(0.05) && short(1.0) <= short(0.5));
        assert!(short(0.01) - short(0.05) > short(0.5) - short(1.0));
        let lost = |beta| filter("rbf-ratio", k, PIVOT, Some(beta)).stops_lost;
        assert!(0.0 < lost(0.1) && lost(0.1) < lost(0.5) && lost(0.5) < lost(1.0));
    }
    // With one bit a key, clearing every false positive costs a large part of the set.
    assert!(filter("rbf-ratio", 1, PIVOT, Some(1.0)).stops_lost > 0.25);
    assert!(filter("rbf-ratio", 5, PIVOT, Some(1.0)).stops_lost < 0.2);
}

#[test]
fn with_one_bit_a_key_there_is_nothing_to_improve() {
    for m in [1000, 3000, PIVOT, 10_000] {
        for beta in [0.01, 0.05, 0.1, 0.25] {
            let of = |implementation, k| filter(implementation, k, m, Some(beta));
            let (simple, improved) = (of("rbf-ratio", 1), of("rbf-improved-ratio", 1));
            assert_eq!((simple.success, simple.bits_cleared), (improved.success, improved.bits_cleared));
            let (simple, improved) = (of("rbf-ratio", 5), of("rbf-improved-ratio", 5));
            assert!(improved.stops_lost <= simple.stops_lost, "{improved:?} and {simple:?}");
        }
    }
    let of = |implementation| filter(implementation, 5, 1000, Some(0.25));
    assert!(of("rbf-improved-ratio").success > of("rbf-ratio").success);
}

#[test]
fn every_table_says_that_the_traces_are_synthetic() {
    let account = &QUICK.account;
    for table in &account.tables {
        assert!(table.summary.contains("Synthetic traces"), "{}", table.title);
        assert!(table.verdict != Verdict::Agrees, "{}", table.title);
        assert!(table.rows.iter().all(|row| row.len() == table.head.len()), "{}", table.title);
    }
    assert!(account.figures.len() >= 6);
    for figure in &account.figures {
        assert!(!figure.svg().contains("NaN"), "{}", figure.title);
    }
    let static_list = &account.findings[0];
    assert!(!static_list.holds, "{}", static_list.evidence);
}

#[test]
fn threads_do_not_change_the_rows() {
    assert_eq!(quick(1).rows, QUICK.rows);
}

#[test]
fn rows_have_the_agreed_fields() {
    let text = serde_json::to_string(&QUICK.rows[0]).expect("rows are JSON");
    let keys: Vec<&str> = text.split('"').skip(1).step_by(2).collect();
    let head = ["implementation", "list", "k", "m", "beta", "cycle", "success", "short", "collision"];
    assert!(keys.starts_with(&head), "{text}");
    for key in ["success_min", "success_max", "nodes_missed", "links_missed", "rounds"] {
        assert!(keys.contains(&key), "{key}");
    }
}

#[test]
fn a_number_of_hash_functions_must_be_named() {
    let error = run(&Options { k: Vec::new() }, &Bench { quick: true, ..Bench::new(&()) });
    assert!(matches!(error, Err(LabError::Option { option: "--k", .. })));
    // Named twice is named once.
    let twice = run(&Options { k: vec![2, 2] }, &Bench { quick: true, rounds: Some(1), ..Bench::new(&()) });
    let rows = twice.expect("it runs").rows;
    assert_eq!(rows.iter().filter(|row| row.implementation == "bloom" && row.cycle == 1).count(), 4);
}
