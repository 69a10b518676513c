//! Guards the contract of `seenit filter retouch`: removed keys miss, what is lost is what is reported, what is unknown
//! is null, and nothing is replaced by accident.

mod common;

use common::Folder;
use serde_json::Value;

/// A filter `f` of the keys `members`, and `strangers` that hit it. Returns how many strangers there are.
fn folder(layout: &str) -> (Folder, u64) {
    let folder = Folder::new();
    folder.keys("members", 0..5000);
    folder.keys("universe", 100_000..200_000);
    let build = format!("filter build --keys members --layout {layout} --rate 0.02 -o f");
    assert_eq!(folder.run(&build).code, 0);
    let strangers = folder.run("filter query f --keys universe --list hits").out;
    folder.write("strangers", &strangers);
    (folder, strangers.lines().count() as u64)
}

/// The first lines of a file as a file of their own.
fn head(folder: &Folder, from: &str, lines: usize, to: &str) {
    let text = String::from_utf8(folder.read(from)).expect("text");
    folder.write(to, text.split_inclusive('\n').take(lines).collect::<String>());
}

fn misses(folder: &Folder, filter: &str, keys: &str) -> u64 {
    folder.run(&format!("filter query {filter} --keys {keys} --json")).json()["misses"]
        .as_u64()
        .expect("a number")
}

fn retouch(folder: &Folder, words: &str) -> Value {
    let ran = folder.run(&format!("filter retouch f --remove bad {words} -o out --json"));
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    ran.json()
}

#[test]
fn removed_keys_miss_and_the_price_is_what_a_query_finds() {
    for layout in ["flat", "paged", "line"] {
        let (folder, strangers) = folder(layout);
        assert!(strangers > 300, "{layout}: {strangers}");
        head(&folder, "strangers", 200, "bad");
        for algorithm in ["random", "minimum-fn", "maximum-fp", "ratio", "improved-ratio"] {
            let answer = retouch(&folder, &format!("--members members --algorithm {algorithm} --seed 7"));
            assert_eq!(answer["algorithm"], algorithm);
            assert_eq!((&answer["keys_to_remove"], &answer["removed"]), (&200.into(), &200.into()));
            assert_eq!((&answer["already_absent"], &answer["members"]), (&0.into(), &5000.into()));
            assert_eq!(misses(&folder, "out", "bad"), 200);
            assert_eq!(answer["false_negatives"], misses(&folder, "out", "members"));
            let info = folder.run("filter info out --json").json();
            assert_eq!(info["cleared_bits"], answer["bits_cleared"]);
            assert_eq!(info["present_rate"], answer["present_rate"]);
            let rate = |field: &str| answer[field].as_f64().expect("a number");
            assert!(rate("present_rate") < rate("present_rate_before"));
        }
    }
}

#[test]
fn known_false_positives_give_side_effects_and_chi() {
    let (folder, strangers) = folder("flat");
    head(&folder, "strangers", 150, "bad");
    let answer = retouch(&folder, "--members members --false-positives strangers");
    assert_eq!(answer["algorithm"], "improved-ratio");
    assert_eq!(answer["false_positives"], strangers);
    let gone = misses(&folder, "out", "strangers");
    assert_eq!(answer["side_effects"], gone - 150);
    let lost = misses(&folder, "out", "members") as f64;
    let chi = (gone as f64 / strangers as f64) / (lost / 5000.0);
    assert!((answer["chi"].as_f64().expect("a number") - chi).abs() < 1e-9);
    assert!(chi > 1.0, "{chi}");
}

#[test]
fn what_is_unknown_is_null() {
    let (folder, _) = folder("line");
    head(&folder, "strangers", 50, "bad");
    let answer = retouch(&folder, "");
    assert_eq!(answer["algorithm"], "improved-maximum-fp");
    assert_eq!(answer["removed"], 50);
    for field in ["members", "false_negatives", "members_removed", "members_already_absent"] {
        assert_eq!(answer[field], Value::Null, "{field}");
    }
    for field in ["false_positives", "side_effects", "chi"] {
        assert_eq!(answer[field], Value::Null, "{field}");
        assert_eq!(retouch(&folder, "--members members")[field], Value::Null, "{field}");
    }
    assert!(folder.run("filter retouch f --remove bad -o out").out.contains("give --members to know"));
}

/// A retouched filter may miss keys: it says so, and claims nothing that cannot be known any more.
#[test]
fn info_says_that_keys_may_be_missed() {
    let (folder, _) = folder("line");
    let whole = folder.run("filter info f --json").json();
    assert_eq!((&whole["cleared_bits"], &whole["promise_kept"]), (&0.into(), &true.into()));
    assert!(!folder.run("filter info f").out.contains("MISS"));
    head(&folder, "strangers", 50, "bad");
    let cleared = retouch(&folder, "")["bits_cleared"].as_u64().expect("a number");
    assert!(cleared > 0);
    let info = folder.run("filter info out --json").json();
    for field in ["promise_kept", "estimated_keys", "estimated_keys_sd"] {
        assert_eq!(info[field], Value::Null, "{field}");
    }
    assert_eq!(info["capacity"], 5000);
    let text = folder.run("filter info out").out;
    assert!(text.contains(&format!("cleared   {cleared} bits: IT MAY MISS KEYS")), "{text}");
    assert!(text.contains("cannot be told: bits were cleared"), "{text}");
    // A union may miss what its parts miss.
    let union = folder.run("filter union f out -o both --json").json();
    assert_eq!(union["cleared_bits"], cleared);
}

#[test]
fn repeated_and_absent_keys_and_members_to_remove() {
    let (folder, _) = folder("flat");
    head(&folder, "strangers", 20, "hits");
    let hits = folder.read("hits");
    folder.write("bad", [&hits[..], b"nobody knows me\nkey-17\n", &hits[..]].concat());
    let ran = folder.run("filter retouch f --remove bad --members members -o out --json");
    assert_eq!(ran.code, 0);
    assert_eq!(ran.err, "seenit: warning: 1 of the keys to remove are members\n");
    let answer = ran.json();
    assert_eq!(answer["keys_to_remove"], 22);
    assert_eq!((&answer["already_absent"], &answer["removed"]), (&1.into(), &21.into()));
    assert_eq!((&answer["members"], &answer["members_removed"]), (&4999.into(), &1.into()));
    let lost = answer["false_negatives"].as_u64().expect("a number");
    assert_eq!(misses(&folder, "out", "members"), lost + 1);

    folder.keys("wrong", 4000..6000);
    let ran = folder.run("filter retouch f --remove hits --members wrong -o out --json");
    let absent = ran.json()["members_already_absent"].as_u64().expect("a number");
    assert!((900..1000).contains(&absent), "{absent}");
    assert!(ran.err.contains(&format!("{absent} of the members were never in the filter")), "{}", ran.err);
}

#[test]
fn equal_input_gives_equal_bytes_and_the_seed_matters_to_random_alone() {
    let (folder, _) = folder("paged");
    head(&folder, "strangers", 100, "bad");
    let bytes = |words: &str| {
        retouch(&folder, words);
        folder.read("out")
    };
    assert_eq!(bytes("--algorithm random --seed 1"), bytes("--algorithm random --seed 1"));
    assert_ne!(bytes("--algorithm random --seed 1"), bytes("--algorithm random --seed 2"));
    assert_eq!(bytes("--members members --seed 1"), bytes("--members members --seed 2"));
    folder.write("nothing", "");
    assert_eq!(folder.run("filter retouch f --remove nothing -o same").code, 0);
    assert_eq!(folder.read("same"), folder.read("f"), "nothing cleared, nothing changed");
}

#[test]
fn hexadecimal_keys_network_keys_and_pipes() {
    let folder = Folder::new();
    let line = |i: u32| format!("{:08x}\n", i.wrapping_mul(2_654_435_769));
    folder.write("members", (0..2000).map(line).collect::<String>());
    folder.write("universe", (10_000..30_000).map(line).collect::<String>());
    folder.write("secret", [7u8; 32]);
    folder.write("other", [8u8; 32]);
    let build = "filter build --keys members --hex --rate 0.05 --network-key secret -o f";
    assert_eq!(folder.run(build).code, 0);
    let query = "filter query f --keys universe --hex --network-key secret --list hits";
    let bad = folder.run(query).out;
    folder.write("bad", &bad);
    let words = "--hex --members members --network-key";
    let ran =
        folder.run_with(&format!("filter retouch f --remove - {words} secret -o out --json"), bad.as_bytes());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(ran.json()["removed"], bad.lines().count());
    let again = folder.run("filter query out --keys bad --hex --network-key secret --json").json();
    assert_eq!(again["hits"], 0);
    folder.run(&format!("filter retouch f --remove bad {words} other -o no")).refused(65, "key fingerprint");
    folder.run("filter retouch f --remove bad --hex -o no").refused(65, "key fingerprint");
    let twice = "filter retouch f --remove - --members - --network-key secret -o no";
    folder.run(twice).refused(2, "cannot read two inputs from standard input");
    assert!(!folder.path("no").exists());
}

#[test]
fn wrong_usage_and_missing_files() {
    let (folder, _) = folder("line");
    head(&folder, "strangers", 10, "bad");
    for algorithm in ["minimum-fn", "ratio", "improved-minimum-fn", "improved-ratio"] {
        let command = format!("filter retouch f --remove bad --algorithm {algorithm} -o out");
        folder.run(&command).refused(2, &format!("--algorithm {algorithm} needs --members"));
    }
    let ran = folder.run("filter retouch f --remove bad --algorithm best -o out");
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("there is no algorithm \"best\""), "{}", ran.err);
    assert_eq!(folder.run("filter retouch f -o out").code, 2);
    folder.run("filter retouch f --remove gone -o out").refused(66, "cannot open gone");
    folder.run("filter retouch f --remove bad --members gone -o out").refused(66, "cannot open gone");
    folder.run("filter retouch gone --remove bad -o out").refused(66, "cannot open gone");
    assert!(!folder.path("out").exists());
}

#[test]
fn outputs_never_replace_inputs() {
    let (folder, _) = folder("line");
    head(&folder, "strangers", 10, "bad");
    folder.write("secret", [7u8; 32]);
    folder.run("filter build --keys members --network-key secret -o g");
    let names = ["f", "g", "bad", "members", "strangers", "secret"];
    let before = names.map(|name| folder.read(name));
    let words = "--remove bad --members members --false-positives strangers";
    for name in ["f", "bad", "members", "strangers"] {
        folder.run(&format!("filter retouch f {words} -o {name}")).refused(73, "one of the inputs");
    }
    let keyed = "filter retouch g --remove bad --network-key secret -o";
    folder.run(&format!("{keyed} secret")).refused(73, "one of the inputs");
    assert!(names.map(|name| folder.read(name)) == before);
    assert_eq!(folder.run(&format!("{keyed} fresh")).code, 0);
}
