//! Guards `seenit lab`: the list, the rows, and the one page with every table and figure.

mod common;

use common::Folder;

const EXPERIMENTS: [&str; 9] =
    ["counting", "retouch", "redstop", "bins", "pages", "storage", "replicas", "words", "site"];

#[test]
fn the_list_names_every_experiment() {
    let ran = Folder::new().run("lab list --json");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let rows = ran.json();
    let names: Vec<&str> =
        rows.as_array().expect("rows").iter().filter_map(|row| row["name"].as_str()).collect();
    assert_eq!(names, EXPERIMENTS);
}

/// The contract of `counting --json`: rows only, each with these fields first and in this order.
#[test]
fn counting_prints_rows_and_nothing_else() {
    let ran = Folder::new().run("lab run counting --quick --rounds 2 --experiment 8 --json");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let rows = ran.json();
    let rows = rows.as_array().expect("one array");
    assert_eq!(rows.len(), 5 * 3 * 2, "sizes, probes, variants");
    assert!(rows.iter().all(|row| row["experiment"] == 8 && row["rounds"] == 2));
    let fields = ["experiment", "m", "k", "variant", "rounds", "mean", "sd", "paper_mean", "paper_sd", "z"];
    let places = fields.map(|field| ran.out.find(&format!("\"{field}\":")).expect(field));
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn the_report_is_one_page_with_every_table_and_figure() {
    let folder = Folder::new();
    let ran = folder.run("lab report --out report --quick");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let page = std::fs::read_to_string(folder.path("report/index.html")).expect("a page");
    assert!(page.matches("<svg").count() >= 20, "{} figures", page.matches("<svg").count());
    let top = &page[..page.find("<section").expect("chapters")];
    for name in EXPERIMENTS {
        assert!(page.contains(&format!("<section id=\"{name}\"")), "{name} has no chapter");
        assert!(top.contains(&format!("href=\"#{name}-0\"")), "the verdict of {name} is not at the top");
        assert!(ran.out.contains(name), "{name} is not in the summary");
    }
    assert!(
        !page.contains("<script") && !page.contains("<img") && !page.contains("<link"),
        "nothing to load"
    );
}

/// Where there is no corpus, and none beside the working directory, the error says what is missing.
#[test]
fn replicas_without_a_corpus_says_what_is_missing() {
    let ran = Folder::new().run("lab run replicas --corpus nowhere --json");
    assert!(ran.code != 0 && ran.out.is_empty(), "{}", ran.err);
    assert!(ran.err.contains("nowhere/index.tsv"), "{}", ran.err);
}

/// The contract of `site --json`: rows only, each with these fields first and in this order.
#[test]
fn site_prints_a_row_for_each_world() {
    let folder = Folder::new();
    let mut index = "path\tlabel\n".to_owned();
    for number in 0..8 {
        let text = format!(
            "Subject: {number}\n\nWe met in spring number {number} and talked about boats and rivers.\n"
        );
        std::fs::write(folder.path(&format!("{number}.eml")), text).expect("a message");
        index += &format!("{number}.eml\t{}\n", if number % 2 == 0 { "spam" } else { "ham" });
    }
    std::fs::write(folder.path("index.tsv"), index).expect("an index");
    let ran = folder.run("lab run site --quick --corpus . --reporters 10 --json");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let rows = ran.json();
    let rows = rows.as_array().expect("one array");
    let shares: Vec<&str> = rows.iter().filter_map(|row| row["reporters"].as_str()).collect();
    assert!(shares.contains(&"80/20/0") && shares.contains(&"70/20/10"), "{shares:?}");
    for crowd in ["sybils-0", "sybils-30-earn", "known-3-earn"] {
        assert!(shares.contains(&crowd), "{shares:?}");
    }
    let of = |crowd| rows.iter().find(|row| row["reporters"] == crowd).expect("a row");
    assert_eq!(of("sybils-30-earn")["ham_hit"], of("sybils-0")["ham_hit"]);
    assert_eq!(of("sybils-30-earn")["spam_caught"], of("sybils-0")["spam_caught"]);
    assert_eq!(of("sybils-30-earn")["weight_hostile"], 0.0, "they earn nothing");
    for rule in ["anyone", "quorum", "trust", "trust + protect", "vouched"] {
        assert!(rows.iter().any(|row| row["rule"] == rule), "{rule}");
    }
    assert!(rows.iter().all(|row| row["messages"].as_u64() >= Some(7)), "one of the ham is kept back");
    let fields =
        ["reporters", "rule", "spam_caught", "ham_hit", "messages", "reports_to_list", "seconds_to_clear"];
    let places = fields.map(|field| ran.out.find(&format!("\"{field}\":")).expect(field));
    assert!(places.is_sorted(), "{places:?}");

    let ran = folder.run("lab run site --corpus . --hostile 0.5");
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("70/20/50"), "{}", ran.err);
}

#[test]
fn a_page_that_cannot_be_written_is_refused_before_the_work() {
    let folder = Folder::new();
    folder.write("report", "in the way");
    folder.run("lab report --out report").refused(73, "report");
}
