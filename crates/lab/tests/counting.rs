//! The experiment `counting` in its quick profile: a rule that is wrong must be found here.

use rayon::ThreadPoolBuilder;
use seenit_lab::counting::{CountsMode, Options, Row, run};
use seenit_lab::{Bench, Outcome, Verdict};

fn bench(seed: u64, rounds: Option<u32>) -> Bench<'static> {
    Bench { seed, rounds, quick: true, ..Bench::new(&()) }
}

fn rows_of(experiments: &[u8], counts: CountsMode, seed: u64, rounds: u32) -> Vec<Row> {
    let options = Options { experiments: experiments.to_vec(), counts };
    run(&options, &bench(seed, Some(rounds))).expect("runs").rows
}

fn json(rows: &[Row]) -> String {
    serde_json::to_string(rows).expect("plain numbers")
}

fn find<'a>(rows: &'a [Row], experiment: u8, m: u64, k: u32, variant: &str) -> &'a Row {
    let same = |row: &&Row| (row.experiment, row.m, row.k, row.variant) == (experiment, m, k, variant);
    rows.iter().find(same).expect("a row for every filter")
}

#[test]
fn the_quick_profile_finds_what_the_paper_found() {
    let outcome = run(&Options::default(), &bench(2006, None)).expect("runs");
    let rows = &outcome.rows;
    // Seven experiments on nine filters, one on fifteen, two variants.
    assert_eq!(rows.len(), (7 * 9 + 15) * 2);
    intuitive_is_its_closed_form(rows);
    refined_is_better_by_the_right_factor(rows);
    everything_is_in_the_account(&outcome);
}

fn intuitive_is_its_closed_form(rows: &[Row]) {
    for row in rows.iter().filter(|row| row.variant == "intuitive") {
        let closed = row.closed_form.expect("the intuitive variant has one");
        // Errors are rare and nearly independent; an element that comes often weighs up to twice as much as others.
        let error = (2.0 * closed / 10_000.0 / f64::from(row.rounds)).sqrt();
        let place = (row.experiment, row.m, row.k);
        assert!((row.mean - closed).abs() < 5.0 * error, "{place:?}: {} and not {closed}", row.mean);
        assert!((row.distinct_mean - closed).abs() < 5.0 * error, "{place:?}: {}", row.distinct_mean);
    }
}

/// Bounds that twenty rounds keep: the printed factors, a fifth to either side.
fn refined_is_better_by_the_right_factor(rows: &[Row]) {
    for row in rows.iter().filter(|row| row.variant == "refined") {
        let intuitive = find(rows, row.experiment, row.m, row.k, "intuitive");
        assert!(row.mean <= intuitive.mean && row.distinct_mean <= intuitive.distinct_mean, "{row:?}");
        assert_eq!(row.closed_form, None);
    }
    let printed =
        [(1, 4.094), (2, 4.259), (3, 1.275), (4, 3.753), (5, 3.375), (6, 2.203), (7, 1.752), (8, 3.759)];
    for (experiment, reduction) in printed {
        let mean = |variant| find(rows, experiment, 80_000, 4, variant).mean;
        let found = mean("intuitive") / mean("refined");
        assert!((found / reduction - 1.0).abs() < 0.2, "experiment {experiment}: {found}, not {reduction}");
    }
}

fn everything_is_in_the_account(outcome: &Outcome<Row>) {
    let account = &outcome.account;
    assert!(account.figures.len() >= 11, "{} figures", account.figures.len());
    assert!(account.figures.iter().all(|figure| !figure.svg().contains("NaN")));
    for table in &account.tables {
        let differs = table.title.starts_with("Equations (3) and (4)");
        let expected = if differs { Verdict::Differs } else { Verdict::Agrees };
        assert_eq!(table.verdict, expected, "{}: {}", table.title, table.summary);
        assert!(table.rows.iter().all(|row| row.len() == table.head.len()), "{}", table.title);
    }
    for number in ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X"] {
        let title = format!("Table {number}:");
        assert!(account.tables.iter().any(|table| table.title.starts_with(&title)), "{title} is missing");
    }
    let holds = |claim: &str| {
        account.findings.iter().find(|finding| finding.claim.contains(claim)).expect("answered").holds
    };
    for claim in
        ["never worse", "reaches 63", "more than 200 times", "equals the first pass", "(share of cells"]
    {
        assert!(holds(claim), "{claim}");
    }
    assert!(!holds("become zero") && !holds("follow from the printed means"));
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let on = |threads| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        json(&pool.install(|| rows_of(&[2, 4], CountsMode::Once, 3, 4)))
    };
    assert_eq!(on(1), on(2));
}

#[test]
fn another_seed_gives_other_rounds_and_the_same_one_the_same() {
    let of = |seed| json(&rows_of(&[2], CountsMode::Once, seed, 2));
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
}

#[test]
fn counts_drawn_each_round_are_other_counts() {
    let of = |experiment, mode| rows_of(&[experiment], mode, 1, 3);
    let (once, each) = (of(5, CountsMode::Once), of(5, CountsMode::EachRound));
    assert_ne!(once[0].mean, each[0].mean);
    assert_eq!((once[0].counts, each[0].counts), ("once", "each-round"));
    let (once, each) = (of(2, CountsMode::Once), of(2, CountsMode::EachRound));
    assert_eq!(json(&once), json(&each), "all elements come equally often");
    assert_eq!(once[0].counts, "fixed");
}

#[test]
fn an_experiment_alone_is_what_it_is_among_others() {
    let alone = rows_of(&[5], CountsMode::Once, 9, 2);
    let among: Vec<Row> =
        rows_of(&[5, 2], CountsMode::Once, 9, 2).into_iter().filter(|row| row.experiment == 5).collect();
    assert_eq!(json(&alone), json(&among));
    let refused = run(&Options { experiments: vec![9], ..Options::default() }, &bench(1, Some(1)));
    assert!(refused.expect_err("there are eight").to_string().contains("--experiment 9"));
}

/// The names, and their order, are a contract.
#[test]
fn rows_have_the_promised_fields() {
    let rows = rows_of(&[2], CountsMode::Once, 1, 1);
    let text = json(&rows[..1]);
    let names = [
        "experiment",
        "m",
        "k",
        "variant",
        "rounds",
        "mean",
        "sd",
        "paper_mean",
        "paper_sd",
        "z",
        "distinct_mean",
        "distinct_sd",
        "closed_form",
        "counts",
    ];
    let places: Vec<_> =
        names.iter().map(|name| text.find(&format!("\"{name}\":")).expect("a field")).collect();
    assert!(places.is_sorted(), "{text}");
    assert_eq!(text.matches("\":").count(), names.len(), "no other fields: {text}");
    assert!(
        text.starts_with(r#"[{"experiment":2,"m":80000,"k":4,"variant":"intuitive","rounds":1,"mean":"#),
        "{text}"
    );
}
