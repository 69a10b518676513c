//! Guards the experiment `pages`: its quick profile, with what would not hold if a layout were wrong.

use std::fs;

use rayon::ThreadPoolBuilder;
use seenit_lab::pages::{MAX_KEYS_LIMIT, Options, Row, run};
use seenit_lab::{Bench, Outcome};
use serde_json::Value;

fn quick() -> Bench<'static> {
    Bench { quick: true, ..Bench::new(&()) }
}

fn outcome(bench: &Bench<'_>) -> Outcome<Row> {
    run(&Options { max_keys: Some(20_000), ..Options::default() }, bench).expect("it runs")
}

fn of<'a>(rows: &'a [Row], experiment: &'a str) -> impl Iterator<Item = &'a Row> {
    rows.iter().filter(move |row| row.experiment == experiment)
}

/// Asserts that a measured rate is the one of theory.
fn assert_rate(row: &Row) {
    let (fpr, theory, queries) =
        (row.fpr.expect("measured"), row.theory.expect("known"), row.operations as f64);
    // Five standard deviations of the hits, four of the filters (half a percent of the rate), and one hit.
    let allowed = 5.0 * (theory * (1.0 - theory) / queries).sqrt() + 0.02 * theory + 1.0 / queries;
    assert!((fpr - theory).abs() <= allowed, "{row:?}: {allowed} is allowed");
}

#[test]
fn rates_and_pages_touched_are_those_of_theory() {
    let Outcome { rows, account } = outcome(&Bench { rounds: Some(4), ..quick() });
    let rates: Vec<&Row> = of(&rows, "rates").collect();
    assert_eq!(rates.len(), 10, "five sizes, two layouts");
    rates.iter().for_each(|row| assert_rate(row));
    for pair in rates.chunks_exact(2).filter(|pair| pair[0].bpe > Some(3)) {
        assert_eq!([pair[0].layout, pair[1].layout], ["standard", "paged"]);
        let excess = pair[1].theory.expect("known") / pair[0].theory.expect("known") - 1.0;
        assert!(excess > 0.0 && excess < 0.03, "{excess} at {:?} bits", pair[0].bpe);
    }
    // The account judges more sharply, by the bits of the filters.
    for table in account.tables.iter().filter(|table| table.title.starts_with("Experiment 2")) {
        assert!(table.summary.contains("Ours follows theory"), "{}", table.summary);
    }
    for row in of(&rows, "touched") {
        let (touched, theory) = (row.pages_touched.expect("counted"), row.theory.expect("known"));
        match row.layout {
            "paged" => assert_eq!((touched, theory), (1.0, 1.0), "{row:?}"),
            // A key's pages have a standard deviation below one.
            _ => assert!((touched - theory).abs() < 5.0 / (row.operations as f64).sqrt(), "{row:?}"),
        }
    }
    assert!(account.figures.len() >= 6, "{} figures", account.figures.len());
    account.figures.iter().for_each(|figure| assert!(!figure.svg().contains("NaN"), "{}", figure.title));
}

#[test]
fn a_cold_lookup_costs_a_paged_filter_fewer_faults() {
    let rows = outcome(&quick()).rows;
    let faults: Vec<&Row> = of(&rows, "faults").collect();
    if faults.iter().all(|row| row.major_faults == Some(0.0)) {
        eprintln!("skipped: faults are not counted here, or temporary files are kept in memory");
        return;
    }
    let major = |layout, operation| {
        let row =
            faults.iter().find(|row| (row.layout, row.operation) == (layout, operation)).expect("a row");
        assert_eq!(row.limit, Some("page-out advice"), "nobody named a program to limit");
        let (major, touched) = (row.major_faults.expect("counted"), row.pages_touched.expect("counted"));
        // A page needs to be read once at most; a few faults may be those of counting.
        assert!(major <= touched + 0.05, "{row:?}");
        major
    };
    assert!(major("standard", "member") > 3.0 * major("paged", "member"));
    assert!(major("standard", "stranger") > 1.3 * major("paged", "stranger"));
    assert!(major("paged", "member") > 0.5, "the file was not dropped from memory");
}

#[test]
fn real_strings_follow_theory_and_their_absence_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let text: String = (0..50_000).map(|number| format!("word{number} ")).collect();
    fs::write(folder.path().join("mail"), text).expect("written");
    let with = outcome(&Bench { corpus: Some(folder.path().to_owned()), ..quick() });
    assert_eq!(of(&with.rows, "strings").count(), 10, "five sizes, two layouts");
    for row in of(&with.rows, "strings") {
        assert_eq!((row.keys, row.operations), (Some(45_000), 5_000));
        assert_rate(row);
    }
    fs::write(folder.path().join("mail"), "too few words").expect("written");
    let without = outcome(&Bench { corpus: Some(folder.path().to_owned()), ..quick() });
    assert_eq!(of(&without.rows, "strings").count(), 0);
    let said = without.account.text();
    assert!(said.contains("skipped: the words of the corpus are 3, fewer than 1000"), "{said}");
}

/// A row as JSON, without times and faults, which are the machine's and not the seed's.
fn of_seed(row: &Row) -> Value {
    let mut value = serde_json::to_value(row).expect("a row is JSON");
    let fields = value.as_object_mut().expect("a row is an object");
    for field in ["seconds", "seconds_batched", "major_faults", "minor_faults"] {
        fields.remove(field);
    }
    if row.experiment == "insertion" {
        fields.remove("sd");
    }
    value
}

#[test]
fn rows_follow_from_the_seed_whatever_the_threads() {
    let with_threads = |threads| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| outcome(&Bench { rounds: Some(2), ..quick() }).rows)
    };
    let (one, two) = (with_threads(1), with_threads(2));
    let of_seeds = |rows: &[Row]| rows.iter().map(of_seed).collect::<Vec<_>>();
    assert_eq!(of_seeds(&one), of_seeds(&two));
    let text = serde_json::to_string(&one[0]).expect("a row is JSON");
    let keys = [
        "experiment",
        "bpe",
        "keys",
        "layout",
        "fpr",
        "seconds",
        "pages_touched",
        "major_faults",
        "minor_faults",
    ];
    let places = keys.map(|key| text.find(&format!("\"{key}\":")).expect("every key is there"));
    assert!(places.is_sorted() && places[0] == 1, "{text}");
}

#[test]
fn more_keys_than_the_paper_has_are_refused() {
    let options = Options { max_keys: Some(MAX_KEYS_LIMIT + 1), ..Options::default() };
    let error = run(&options, &quick()).map(|_| ()).expect_err("out of range").to_string();
    assert!(error.contains("--max-keys 110000001"), "{error}");
}
