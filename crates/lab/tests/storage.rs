//! Guards the experiment `storage`: the chooser knows what its shapes take, flat cells take more, deltas keep to their
//! bound.

use rayon::ThreadPoolBuilder;
use seenit_lab::storage::{Options, Row, run};
use seenit_lab::{Account, Bench, LabError, Outcome};

fn quick_run(options: &Options, threads: usize) -> Result<Outcome<Row>, LabError> {
    let bench = Bench { quick: true, ..Bench::new(&()) };
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
    pool.install(|| run(options, &bench))
}

/// The small version of everything, run once: tests may be processes of their own.
#[test]
fn the_small_version_holds() {
    let Outcome { rows, account } = quick_run(&Options::default(), 2).expect("a good run");
    let (shapes, deltas): (Vec<Row>, Vec<Row>) = rows.into_iter().partition(|row| row.experiment == "split");
    assert_eq!((shapes.len(), deltas.len()), (5 * 15 * 4, 5 * 11));
    the_chooser_knows_what_shapes_take(&shapes);
    the_best_shape_is_worth_it(&shapes);
    deltas_keep_to_their_bound(&deltas);
    findings_answer_as_they_must(&account);
    json_has_the_agreed_keys_in_order(&shapes[0], &deltas[0]);
}

/// Tables grow by jumps, and those of many chunks at about the same time: there two rounds are some percent off.
fn the_chooser_knows_what_shapes_take(shapes: &[Row]) {
    for row in shapes {
        let (measured, reckoned) =
            (row.bits_per_signature.expect("measured"), row.bits_per_signature_formula.expect("reckoned"));
        let allowed = if row.chunks == Some(1) { 0.02 } else { 0.1 };
        assert!((reckoned / measured - 1.0).abs() < allowed, "{row:?}");
    }
}

/// The steeper the counts, the more of them are large and the more memory they take: less than flat cells of 16 bits
/// in any case, and more than their entropy.
fn the_best_shape_is_worth_it(shapes: &[Row]) {
    let mut before = 0.0;
    for exponent in Options::default().exponents {
        let of = shapes.iter().filter(|row| row.exponent == Some(exponent));
        let bits = |row: &Row| row.bits_per_signature.expect("measured");
        let best = of.min_by(|a, b| bits(a).total_cmp(&bits(b))).expect("a shape");
        assert!(bits(best) < 0.7 * best.flat_16_bits_per_signature.expect("flat cells"), "{best:?}");
        assert!(bits(best) > best.entropy_bits_per_signature.expect("entropy"), "{best:?}");
        assert!(bits(best) > before && (3..=7).contains(&best.low_bits.expect("low bits")), "{best:?}");
        before = bits(best);
    }
}

fn deltas_keep_to_their_bound(deltas: &[Row]) {
    for row in deltas {
        let (bytes, bound) = (row.bytes.expect("bytes"), row.bound_bytes.expect("a bound"));
        assert!(bytes >= bound, "{row:?}");
        assert!(bytes as f64 <= 1.15 * bound as f64 + 64.0, "{row:?}");
        // A filter and a byte that says so is always enough.
        assert!(bytes <= row.filter_bytes.expect("a filter") + 1, "{row:?}");
    }
    // More changes, more bytes. In a small filter one key may be the change of more than one rate.
    let more = |pair: &&[Row]| pair[0].kind == pair[1].kind && pair[1].change_rate > Some(1e-4);
    for pair in deltas.windows(2).filter(more) {
        assert!(pair[0].change_rate < pair[1].change_rate && pair[0].bytes < pair[1].bytes, "{pair:?}");
    }
}

fn findings_answer_as_they_must(account: &Account) {
    let no = ["More chunks take less", "comes close to the entropy"];
    for finding in &account.findings {
        let expected = !no.iter().any(|claim| finding.claim.contains(claim));
        assert_eq!(finding.holds, expected, "{finding:?}");
    }
    assert!(account.figures.len() >= 3 && account.tables.len() == 3);
    for figure in &account.figures {
        assert!(!figure.svg().contains("NaN"), "{}", figure.title);
    }
}

fn json_has_the_agreed_keys_in_order(shape: &Row, delta: &Row) {
    let agreed = [
        "experiment",
        "low_bits",
        "chunks",
        "signatures",
        "exponent",
        "top",
        "bits_per_signature",
        "bits_per_signature_formula",
        "flat_8_bits_per_signature",
        "flat_16_bits_per_signature",
        "flat_32_bits_per_signature",
        "kind",
        "change_rate",
        "bytes",
        "bound_bytes",
        "ratio",
    ];
    for row in [shape, delta] {
        let json = serde_json::to_string(row).expect("plain fields");
        let mut rest = json.trim_start_matches('{');
        for key in agreed {
            assert!(rest.starts_with(&format!("\"{key}\":")), "{key} comes next in {rest}");
            rest = rest.split_once(',').expect("more follows").1;
        }
    }
    let json = serde_json::to_value(delta).expect("plain fields");
    assert!(json["low_bits"].is_null() && json["ratio"].is_number());
}

#[test]
fn rows_do_not_depend_on_the_number_of_threads() {
    let options = Options { signatures: 2000, exponents: vec![0.8, 1.2], delta_kib: 32 };
    let rows = |threads| quick_run(&options, threads).expect("a good run").rows;
    assert_eq!(rows(1), rows(2));
}

#[test]
fn options_out_of_range_are_refused_by_value() {
    let refused = |options: Options| quick_run(&options, 1).map(drop).expect_err("refused").to_string();
    let good = Options::default;
    assert!(refused(Options { signatures: 9, ..good() }).contains("--signatures 9"));
    assert!(refused(Options { exponents: vec![-1.0], ..good() }).contains("--exponents -1"));
    assert!(refused(Options { exponents: Vec::new(), ..good() }).contains("none"));
    assert!(refused(Options { exponents: vec![2.0], ..good() }).contains("--exponents 2"));
    assert!(refused(Options { delta_kib: 1, ..good() }).contains("--delta-kib 1"));
}
