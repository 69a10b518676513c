//! Guards the contract of `seenit filter count`: commands, JSON fields, exit codes, counts that are never too low.

mod common;

use common::Folder;

/// Key i comes 1 + 60/(i+1) times, repeats far apart.
fn times(i: u32) -> u32 {
    1 + 60 / (i + 1)
}

fn write_stream(folder: &Folder, keys: u32) -> u64 {
    let mut stream = String::new();
    for round in 0..61 {
        (0..keys).filter(|&i| times(i) > round).for_each(|i| stream += &format!("key-{i}\n"));
    }
    folder.write("stream", &stream);
    folder.keys("keys", 0..keys);
    stream.lines().count() as u64
}

/// How many keys the answer counts right; none may be too low.
fn right(answer: &serde_json::Value, cap: u64) -> usize {
    let counts = answer["counts"].as_array().expect("a list");
    counts
        .iter()
        .enumerate()
        .filter(|(i, row)| {
            assert_eq!(row["key"], format!("key-{i}"));
            let (count, truth) = (row["count"].as_u64().expect("a number"), u64::from(times(*i as u32)));
            assert!(count >= truth.min(cap), "{row}");
            assert_eq!(row["saturated"], count == cap);
            count == truth
        })
        .count()
}

#[test]
fn repeated_lines_are_counted_and_never_too_low() {
    let folder = Folder::new();
    let lines = write_stream(&folder, 5000);
    for options in ["", "--rule intuitive", "--layout flat", "--exact", "--exact --layout flat --cell-bits 2"]
    {
        let built =
            folder.run(&format!("filter count build --keys stream --capacity 5000 {options} -o f --json"));
        assert_eq!(built.code, 0, "{options}: {}", built.err);
        let report = built.json();
        assert_eq!((report["keys_read"].as_u64(), report["capacity"].as_u64()), (Some(lines), Some(5000)));
        let sd = report["estimated_keys_sd"].as_f64().expect("a number");
        assert!((report["estimated_keys"].as_f64().expect("a number") - 5000.0).abs() < 6.0 * sd, "{report}");
        assert_eq!(report["promise_kept"], true, "{report}");
        let query = folder.run("filter count query f --keys keys --json");
        assert_eq!(query.code, 0, "{}", query.err);
        let (answer, cap) = (query.json(), report["cap"].as_u64().expect("a number"));
        assert_eq!((answer["keys"].as_u64(), answer["absent"].as_u64()), (Some(5000), Some(0)));
        // The rate is 1 %: at most so many counts are expected to be too high.
        assert!(right(&answer, cap) > 4900, "{options}: {}", right(&answer, cap));
    }
}

#[test]
fn small_cells_say_at_least() {
    let folder = Folder::new();
    write_stream(&folder, 500);
    let built = folder.run("filter count build --keys stream --cell-bits 3 -o f --json").json();
    assert_eq!((built["cap"].as_u64(), built["storage"].as_str()), (Some(7), Some("packed")));
    assert!(built["saturated_share"].as_f64().expect("a number") > 0.0);
    let query = folder.run("filter count query f --keys keys --json");
    right(&query.json(), 7);
    assert!(query.json()["saturated"].as_u64() >= Some(7));
    let text = folder.run("filter count query f --keys keys --at-least 7");
    assert!(text.out.starts_with("7+\tkey-0\n7+\tkey-1\n"), "{}", text.out);
    assert!(text.err.contains("500 counted, 0 absent"), "{}", text.err);
    // Found in a trial: a threshold beyond the cells silently dropped the keys that came most often.
    let beyond = folder.run("filter count query f --keys keys --at-least 20");
    assert!(beyond.out == text.out && beyond.err.contains("counts stop at 7"), "{}", beyond.err);
}

#[test]
fn strangers_are_absent_and_the_exit_code_says_so() {
    let folder = Folder::new();
    write_stream(&folder, 500);
    folder.run("filter count build --keys stream --rate 0.0001 -o f");
    let query = folder.run_with("filter count query f --keys - --json", b"nobody\nkey-0\n");
    assert_eq!((query.code, query.json()["absent"].as_u64()), (1, Some(1)));
    assert_eq!(query.json()["counts"][0]["count"], 0);
    assert_eq!(query.json()["counts"][1]["count"], 61);
    let query = folder.run_with("filter count query f --keys - --json", b"a\xff\n");
    assert_eq!(query.json()["counts"][0]["key_hex"], "61ff");
    assert!(query.json()["counts"][0]["key"].is_null());
}

#[test]
fn info_knows_counting_filters_and_others_refuse_them() {
    let folder = Folder::new();
    write_stream(&folder, 500);
    folder.run("filter count build --keys stream --exact -o counts");
    folder.run("filter build --keys keys -o plain");
    let info = folder.run("filter info counts --json").json();
    assert_eq!((info["storage"].as_str(), info["rule"].as_str()), (Some("split"), Some("refined")));
    assert_eq!((info["layout"].as_str(), info["cell_bits"].as_u64()), (Some("paged"), Some(4)));
    let text = folder.run("filter info counts").out;
    assert!(text.contains("counts    refined, up to") && text.contains("promise kept"), "{text}");
    folder
        .run("filter query counts --keys keys")
        .refused(65, "a counting filter in split storage, not a plain");
    folder.run("filter union counts plain -o sum").refused(65, "a counting filter");
    folder.run("filter count query plain --keys keys").refused(65, "a plain filter, not a counting filter");
    assert!(!folder.path("sum").exists());
}

#[test]
fn equal_input_gives_equal_bytes_and_another_key_is_refused() {
    let folder = Folder::new();
    write_stream(&folder, 500);
    folder.write("secret", "a secret of more than sixteen bytes\n");
    for options in ["", "--exact"] {
        folder.run(&format!("filter count build --keys stream {options} -o one"));
        folder.run(&format!("filter count build --keys stream {options} -o two"));
        assert!(folder.read("one") == folder.read("two"));
    }
    folder.run("filter count build --keys stream --network-key secret -o keyed");
    folder.run("filter count query keyed --keys keys").refused(65, "key fingerprint");
    assert_eq!(folder.run("filter count query keyed --keys keys --network-key secret").code, 0);
}

#[test]
fn impossible_wishes_are_refused_by_name() {
    let folder = Folder::new();
    write_stream(&folder, 10);
    folder.write("empty", "");
    for (options, says) in [
        ("--cell-bits 0", "not 0"),
        ("--cell-bits 17", "17"),
        ("--exact --cell-bits 17", "2 to 16 bits, one of them a flag, not 17"),
        ("--exact --cell-bits 1", "2 to 16 bits, one of them a flag, not 1"),
        ("--exact --cell-bits 0", "not 0"),
        ("--rate 2", "rate must lie between 0 and 1"),
        ("--capacity 0", "capacity"),
    ] {
        folder.run(&format!("filter count build --keys stream {options} -o f")).refused(2, says);
    }
    folder.run("filter count build --keys empty -o f").refused(65, "there are no keys");
    folder.run("filter count build --keys stream -o stream").refused(73, "one of the inputs");
    assert!(!folder.path("f").exists());
    let built = folder.run("filter count build --keys stream -o f");
    assert!(built.err.contains("only about 10 of the keys are distinct"), "{}", built.err);
    let built = folder.run("filter count build --keys stream --capacity 2 --layout flat -o f --json");
    assert!(built.err.contains("promise is broken"), "{}", built.err);
}
