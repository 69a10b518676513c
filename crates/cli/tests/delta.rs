//! Guards `seenit filter diff` and `apply`: the very bytes of the new file, or a refusal that leaves everything as it
//! was.

mod common;

use common::Folder;

/// Two filter files, one with a few keys more.
fn folder(layout: &str) -> Folder {
    let folder = Folder::new();
    folder.keys("monday", 0..20_000);
    folder.keys("tuesday", 0..20_300);
    for name in ["monday", "tuesday"] {
        let built = folder
            .run(&format!("filter build --keys {name} --layout {layout} --capacity 21000 -o {name}.filter"));
        assert_eq!(built.code, 0, "{}", built.err);
    }
    folder.write("out", "precious");
    folder
}

#[test]
fn old_and_delta_give_the_very_bytes_of_new() {
    for layout in ["flat", "paged", "line"] {
        let folder = folder(layout);
        for (old, new) in [("monday", "tuesday"), ("tuesday", "monday"), ("monday", "monday")] {
            let made = folder.run(&format!("filter diff {old}.filter {new}.filter -o d --json"));
            assert_eq!(made.code, 0, "{}", made.err);
            let report = made.json();
            let number = |field: &str| report[field].as_u64().expect("a number");
            assert_eq!(number("bytes"), folder.read("d").len() as u64);
            assert!(number("bytes") <= number("entropy_bytes") * 115 / 100 + 128, "{report}");
            assert_eq!(number("changed") == 0, old == new);
            assert_eq!(report["old_digest"] == report["new_digest"], old == new);
            let applied = folder.run(&format!("filter apply {old}.filter d -o made --json"));
            assert_eq!(applied.code, 0, "{}", applied.err);
            assert_eq!(applied.json()["new_digest"], report["new_digest"]);
            assert!(folder.read("made") == folder.read(&format!("{new}.filter")), "{layout}: {old} to {new}");
        }
    }
}

#[test]
fn a_delta_for_another_file_is_refused() {
    let folder = folder("line");
    folder.run("filter diff monday.filter tuesday.filter -o d");
    folder.run("filter apply tuesday.filter d -o out").refused(65, "d: old digest: the delta starts from ");
    folder.keys("other", 0..10);
    folder.run("filter build --keys other -o other.filter");
    folder.run("filter apply other.filter d -o out").refused(65, "d: old digest:");
    folder.run("filter diff monday.filter other.filter -o out").refused(65, "the filters differ in bits");
    assert_eq!(folder.read("out"), b"precious");
}

#[test]
fn damaged_deltas_are_refused_and_the_output_stays() {
    let folder = folder("flat");
    folder.run("filter diff monday.filter tuesday.filter -o d");
    let bytes = folder.read("d");
    for at in (0..bytes.len()).step_by(61).chain([bytes.len() - 1]) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 4;
        folder.write("bad", &damaged);
        folder.run("filter apply monday.filter bad -o out").refused(65, "bad: ");
        folder.write("bad", &bytes[..at]);
        folder.run("filter apply monday.filter bad -o out").refused(65, "bad: length:");
    }
    folder.write("bad", [&bytes[..], b"more"].concat());
    folder.run("filter apply monday.filter bad -o out").refused(65, "bad: length:");
    assert_eq!(folder.read("out"), b"precious");
}

#[test]
fn filters_and_deltas_are_not_taken_for_each_other() {
    let folder = folder("line");
    folder.run("filter diff monday.filter tuesday.filter -o d");
    let apply = |old: &str, delta: &str| folder.run(&format!("filter apply {old} {delta} -o out"));
    apply("monday.filter", "tuesday.filter").refused(65, "this is a seenit filter file, not a delta");
    apply("d", "d").refused(65, "this is a seenit delta, not a filter file");
    apply("monday.filter", "monday").refused(65, "this is not a seenit delta");
    folder
        .run("filter diff d tuesday.filter -o out")
        .refused(65, "this is a seenit delta, not a filter file");
    folder.run("filter info d").refused(65, "this is a seenit delta, not a filter file");
    apply("nowhere", "d").refused(66, "nowhere");
    assert_eq!(folder.read("out"), b"precious");
}

#[test]
fn inputs_are_not_overwritten() {
    let folder = folder("line");
    let (old, new) = (folder.read("monday.filter"), folder.read("tuesday.filter"));
    for output in ["monday.filter", "tuesday.filter"] {
        let words = format!("filter diff monday.filter tuesday.filter -o {output}");
        folder.run(&words).refused(73, "one of the inputs");
    }
    folder.run("filter diff monday.filter tuesday.filter -o d");
    for output in ["monday.filter", "d"] {
        folder.run(&format!("filter apply monday.filter d -o {output}")).refused(73, "one of the inputs");
    }
    assert!(folder.read("monday.filter") == old && folder.read("tuesday.filter") == new);
}
