//! Guards the contract of `seenit filter`: commands, JSON fields, exit codes, equal bytes for equal input.

mod common;

use common::Folder;

const LAYOUTS: [&str; 3] = ["flat", "paged", "line"];

#[test]
fn members_hit_and_strangers_miss_at_the_promised_rate() {
    let folder = Folder::new();
    folder.keys("members", 0..100_000);
    folder.keys("strangers", 1_000_000..1_400_000);
    for layout in LAYOUTS {
        let built = folder.run(&format!("filter build --keys members --layout {layout} -o f --json"));
        assert_eq!(built.code, 0, "{}", built.err);
        let members = folder.run("filter query f --keys members --json");
        assert_eq!((members.code, members.json()["hits"].as_u64()), (0, Some(100_000)));
        assert_eq!(members.json()["misses"], 0);
        let strangers = folder.run("filter query f --keys strangers --json");
        assert_eq!(strangers.code, 1);
        let rate = strangers.json()["hits"].as_f64().expect("a number") / 400_000.0;
        assert!((0.007..0.0105).contains(&rate), "{layout}: {rate}");
    }
}

#[test]
fn info_shows_geometry_fill_estimate_promise_and_present() {
    let folder = Folder::new();
    folder.keys("members", 0..10_000);
    folder.run("filter build --keys members --layout line --rate 0.01 -o f");
    let info = folder.run("filter info f --json").json();
    assert_eq!(info["layout"], "line");
    assert_eq!(info["k"], 8);
    assert_eq!(info["capacity"], 10_000);
    assert_eq!(info["promised_rate"], 0.01);
    assert_eq!(info["promise_kept"], true);
    assert_eq!(info["public_key"], true);
    let number = |field: &str| info[field].as_f64().unwrap_or_else(|| panic!("{field} is a number"));
    assert!((number("bits") / 10_000.0 - 10.1).abs() < 0.1);
    assert!((0.45..0.6).contains(&number("fill_ratio")));
    assert!((number("estimated_keys") - 10_000.0).abs() < 6.0 * number("estimated_keys_sd"));
    assert!((0.008..0.0105).contains(&number("present_rate")));
    let text = folder.run("filter info f").out;
    assert!(
        text.contains("promise   10000 keys at a rate of 1.000 %") && text.contains("promise kept"),
        "{text}"
    );
}

#[test]
fn an_overfull_filter_says_so() {
    let folder = Folder::new();
    folder.keys("members", 0..10_000);
    let built = folder.run("filter build --keys members --capacity 2000 -o f --json");
    assert_eq!(built.code, 0);
    assert!(built.err.contains("10000 keys in a filter for 2000"), "{}", built.err);
    assert_eq!(built.json()["promise_kept"], false);
    assert!(folder.run("filter info f").out.contains("PROMISE BROKEN"));
}

#[test]
fn equal_input_gives_equal_bytes_in_any_order_and_from_any_source() {
    let folder = Folder::new();
    folder.keys("members", 0..5000);
    let text = folder.read("members");
    let mut lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
    lines.reverse();
    folder.write("reversed", lines.concat());
    folder.run("filter build --keys members -o a");
    folder.run("filter build --keys reversed -o b");
    assert_eq!(folder.run_with("filter build --keys - -o c", &text).code, 0);
    assert_eq!(folder.run_with("filter build --keys - --capacity 5000 -o d", &text).code, 0);
    assert!(["b", "c", "d"].iter().all(|name| folder.read(name) == folder.read("a")));
}

#[test]
fn hexadecimal_keys_are_the_bytes_they_name() {
    let folder = Folder::new();
    folder.write("text", "spam\neggs\n");
    folder.write("hex", "7370616d\n65676773\n");
    folder.run("filter build --keys text -o a");
    folder.run("filter build --keys hex --hex -o b");
    assert_eq!(folder.read("a"), folder.read("b"));
    assert_eq!(folder.run("filter query a --keys hex --hex").code, 0);
    folder.write("bad", "00\nspam\n");
    folder.run("filter build --keys bad --hex -o c").refused(65, "bad: line 2: \"spam\" is not hexadecimal");
    assert!(!folder.path("c").exists());
}

#[test]
fn query_lists_what_hit_or_what_missed() {
    let folder = Folder::new();
    folder.write("members", "ham\nspam\n");
    folder.write("asked", "spam\nunknown to all of us\nham\n");
    folder.run("filter build --keys members --rate 1e-9 -o f");
    let hits = folder.run("filter query f --keys asked --list hits");
    assert_eq!((hits.code, hits.out.as_str()), (1, "spam\nham\n"));
    assert!(hits.err.contains("2 hits, 1 misses"));
    assert_eq!(folder.run("filter query f --keys asked --list misses").out, "unknown to all of us\n");
    assert_eq!(folder.run("filter query f --keys asked").out, "2 hits, 1 misses\n");
    assert_eq!(folder.run("filter query f --keys asked --list hits --json").code, 2);
}

#[test]
fn union_holds_what_either_held_and_equals_one_build() {
    let folder = Folder::new();
    folder.keys("one", 0..3000);
    folder.keys("two", 3000..6000);
    folder.keys("all", 0..6000);
    for layout in LAYOUTS {
        for name in ["one", "two", "all"] {
            folder.run(&format!(
                "filter build --keys {name} --layout {layout} --capacity 6000 -o {name}.filter"
            ));
        }
        let united = folder.run("filter union one.filter two.filter -o u --json");
        assert_eq!(united.code, 0, "{}", united.err);
        assert_eq!(folder.read("u"), folder.read("all.filter"), "{layout}");
        // The output may be one of the inputs.
        assert_eq!(folder.run("filter union one.filter two.filter -o one.filter").code, 0);
        assert_eq!(folder.read("one.filter"), folder.read("u"));
    }
}

#[test]
fn unlike_filters_are_refused_with_the_field_and_the_output_stays() {
    let folder = Folder::new();
    folder.keys("keys", 0..100);
    folder.write("secret", [7u8; 32]);
    folder.run("filter build --keys keys -o a");
    folder.run("filter build --keys keys --capacity 200 -o b");
    folder.run("filter build --keys keys --network-key secret -o c");
    folder.run("filter build --keys keys --layout flat -o d");
    folder.write("out", "precious");
    for (other, field) in [("b", "bits"), ("c", "key fingerprint"), ("d", "layout")] {
        folder.run(&format!("filter union a {other} -o out")).refused(65, &format!("differ in {field}"));
        assert_eq!(folder.read("out"), b"precious");
    }
}

#[test]
fn a_network_key_is_needed_to_ask_and_never_stands_in_the_file() {
    let folder = Folder::new();
    folder.keys("keys", 0..100);
    folder.write("secret", "0123456789abcdef0123456789abcdef\n");
    folder.write("same", "0123456789abcdef0123456789abcdef");
    folder.write("other", "0123456789abcdef0123456789abcdee\n");
    folder.write("short", "123456789012345\n");
    folder.write("enough", "1234567890123456\n");
    assert_eq!(folder.run("filter build --keys keys --network-key secret -o f").code, 0);
    assert_eq!(folder.run("filter query f --keys keys --network-key same").code, 0);
    folder.run("filter query f --keys keys --network-key other").refused(65, "key fingerprint");
    folder.run("filter query f --keys keys").refused(65, "key fingerprint");
    folder
        .run("filter build --keys keys --network-key short -o g")
        .refused(65, "at least 16 and at most 65536 bytes");
    assert_eq!(folder.run("filter build --keys keys --network-key enough -o g").code, 0);
    let file = folder.read("f");
    assert!(!file.windows(16).any(|window| window == b"0123456789abcdef"));
    assert_eq!(folder.run("filter info f --json").json()["public_key"], false);
}

#[test]
fn impossible_requests_are_wrong_usage() {
    let folder = Folder::new();
    folder.keys("keys", 0..10);
    for rate in ["0", "1", "-0.5", "2", "nan"] {
        let ran = folder.run(&format!("filter build --keys keys --rate={rate} -o f"));
        assert_eq!(ran.code, 2, "{rate}: {}", ran.err);
    }
    folder.run("filter build --keys keys --capacity 0 -o f").refused(2, "capacity must be at least 1");
    folder
        .run("filter build --keys keys --capacity 99999999999999 -o f")
        .refused(2, "capacity is 99999999999999");
    assert_eq!(folder.run("filter build --keys keys --layout round -o f").code, 2);
    folder.run("filter build --keys missing -o f").refused(66, "missing");
    folder.run("filter build --keys keys -o no/such/folder/f").refused(73, "no/such/folder/f");
    folder.write("empty", "\n\n");
    folder.run("filter build --keys empty -o f").refused(65, "no keys");
    assert!(!folder.path("f").exists());
    assert_eq!(folder.run("filter build --keys empty --capacity 10 -o f").code, 0);
}

/// Found by a new user: rates of small filters scatter, and that is no broken promise.
#[test]
fn small_filters_within_their_capacity_keep_their_promise() {
    let folder = Folder::new();
    for keys in [1, 5, 10, 100] {
        for seed in 0..10 {
            let start = seed * 1000;
            folder.keys("keys", start..start + keys);
            let built = folder.run("filter build --keys keys --layout flat -o f --json");
            assert_eq!(built.err, "");
            assert_eq!(built.json()["promise_kept"], true);
            assert_eq!(built.json()["keys_read"], keys);
        }
    }
}

/// Found by a new user: `-o` followed by the wrong name must not eat the keys or the secret, and a link to a filter
/// stays a link.
#[cfg(unix)]
#[test]
fn outputs_never_replace_inputs_or_links() {
    let folder = Folder::new();
    folder.keys("keys", 0..100);
    folder.write("secret", [7u8; 32]);
    let keys = folder.read("keys");
    folder.run("filter build --keys keys -o keys").refused(73, "one of the inputs");
    folder.run("filter build --keys keys --network-key secret -o secret").refused(73, "one of the inputs");
    assert_eq!((folder.read("keys"), folder.read("secret")), (keys, vec![7; 32]));

    assert_eq!(folder.run("filter build --keys keys -o real").code, 0);
    let old = folder.read("real");
    std::os::unix::fs::symlink(folder.path("real"), folder.path("link")).expect("a link");
    assert_eq!(folder.run("filter build --keys keys --rate 0.1 -o link").code, 0);
    assert!(folder.path("link").is_symlink());
    assert_ne!(folder.read("real"), old);
    std::os::unix::fs::symlink(folder.path("nowhere"), folder.path("dangling")).expect("a link");
    assert_eq!(folder.run("filter build --keys keys -o dangling").code, 73);
}

/// A reader that has seen enough is no error, so that `| head` works under `set -o pipefail`.
#[cfg(unix)]
#[test]
fn a_closed_pipe_is_no_problem() {
    let folder = Folder::new();
    folder.keys("keys", 0..200_000);
    folder.run("filter build --keys keys -o f");
    let seenit = env!("CARGO_BIN_EXE_seenit");
    let script = format!("set -o pipefail; '{seenit}' filter query f --keys keys --list hits | head -1");
    let output =
        std::process::Command::new("bash").args(["-c", &script]).current_dir(folder.path(".")).output();
    let output = output.expect("bash runs");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.stdout, b"key-0\n");
}

/// Every command has help with an example.
#[test]
fn every_command_has_help_with_an_example() {
    let folder = Folder::new();
    for command in
        ["build", "count build", "count query", "info", "query", "retouch", "union", "diff", "apply"]
    {
        let help = folder.run(&format!("filter {command} --help"));
        assert_eq!(help.code, 0);
        assert!(help.out.contains(&format!("Example: seenit filter {command}")), "{}", help.out);
    }
}
