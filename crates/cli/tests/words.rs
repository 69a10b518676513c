//! Guards the contract of `seenit words`: train, score and eval on real files, and a clear refusal of everything else.

mod common;

use common::Folder;

/// An mbox of spam and files of good mail, and messages that nobody has seen.
fn folder() -> Folder {
    let folder = Folder::new();
    let mut spam = String::new();
    for n in 0..60 {
        spam += &format!(
            "From x Mon Jan 1 00:00:00 2024\nSubject: win a prize\n\ncheap pills and casino offer{n}\n\n"
        );
    }
    folder.write("spam.mbox", spam);
    for n in 0..60 {
        let text = format!("Subject: minutes\n\nthe kernel meeting reviewed patch{n} again\n");
        folder.write(&format!("ham-{n}"), text);
    }
    folder.write("spammy", "Subject: win\n\ncheap pills, casino offer, prize\n");
    folder.write("good", "Subject: minutes\n\nthe kernel meeting reviewed it\n");
    folder.write("empty", "\n\n");
    folder
}

const HAM: &str =
    "--ham ham-0 ham-1 ham-2 ham-3 ham-4 ham-5 ham-6 ham-7 ham-8 ham-9 ham-10 ham-11 ham-12 ham-13 ham-14";

fn train(folder: &Folder, more: &str) -> serde_json::Value {
    let ran = folder.run(&format!("words train --spam spam.mbox {HAM} -o words.bbf --json {more}"));
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    ran.json()
}

#[test]
fn what_is_trained_is_what_is_scored() {
    let folder = folder();
    let summary = train(&folder, "");
    assert_eq!((&summary["spam_messages"], &summary["ham_messages"]), (&60.into(), &15.into()));
    assert_eq!(summary["messages"], 75);
    assert_eq!(summary["file_bytes"], folder.read("words.bbf").len());
    for field in ["tokens", "bins", "bits", "expected_ham_credit", "member_error"] {
        assert!(summary[field].as_f64().expect(field) > 0.0, "{field}");
    }
    let rows = folder.run("words score spammy good empty --words words.bbf --json").json();
    let probability = |row: usize| rows[row]["probability"].as_f64();
    assert!(probability(0).expect("words") > 0.9 && probability(1).expect("words") < 0.1, "{rows}");
    assert!(probability(2).is_none(), "no words, no opinion");
    let word = &rows[0]["mattered"][0];
    assert_eq!(word["side"], "spam");
    assert!(word["says"].as_f64() > Some(0.0) && word["weight"].as_f64() > Some(1.0), "{word}");
    let text = folder.run("words score empty spammy --words words.bbf").out;
    assert!(text.contains("no opinion") && text.contains("pills"), "{text}");
    let info = folder.run("filter info words.bbf --json").json();
    assert_eq!(info["notes"]["spam messages"], 60.0);
    assert!(folder.run("filter info words.bbf").out.contains("expected ham credit"));
}

#[test]
fn equal_messages_give_equal_files_and_annealing_another() {
    let folder = folder();
    // Words of many weights, so that there are many cuts to choose from: word k is in k of the messages.
    let text = |side: char, n: u64| {
        let words = (1..=400u64).filter(|k| (k * 7919 + n * 104_729) % 400 < *k);
        words.map(|k| format!("{side}{k}word ")).collect::<String>()
    };
    for (side, other) in [('s', 'h'), ('h', 's')] {
        let mail = |n| {
            format!("From x Mon Jan 1 00:00:00 2024\n\n{}{}\n\n", text(side, n), &text(other, n + 7)[..300])
        };
        folder.write(&format!("{side}.mbox"), (0..80).map(mail).collect::<String>());
    }
    let train = |more: &str| {
        let ran = folder.run(&format!("words train --spam s.mbox --ham h.mbox -o w --json --bins 24 {more}"));
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        (ran.json(), folder.read("w"))
    };
    let (exact, annealed) = (train("").1, train("--anneal").1);
    assert!(exact == train("").1 && annealed == train("--anneal").1, "equal messages, equal files");
    assert!(exact != annealed, "annealing ended at the very same cuts");
    let (small, _) = train("--anneal --bits 3000");
    assert_eq!(small["bits"], 3000);
    assert!(small["bins"].as_u64() <= Some(48));
}

/// All the memory once went to one side, and training failed with the default options.
#[test]
fn a_side_that_gets_no_bits_does_not_stop_training() {
    let folder = Folder::new();
    let mbox = |text: &dyn Fn(u32) -> String| {
        let mail = |n| format!("From x Mon Jan 1 00:00:00 2024\n\n{}\n\n", text(n));
        (0..600).map(mail).collect::<String>()
    };
    let words: String = ('a'..='t').map(|c| format!("pills{c} ")).collect();
    folder.write("s", mbox(&|n| format!("{words} neutral {}", if n % 2 == 0 { "lightword" } else { "" })));
    folder.write("h", mbox(&|n| format!("neutral {}", if n % 6 == 0 { "" } else { "lightword" })));
    let ran = folder.run("words train --spam s --ham h -o words.bbf --json");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert_eq!((&ran.json()["spam_words"], &ran.json()["good_words"]), (&20.into(), &0.into()));
    for bits in [1, 2, 7, 30] {
        let ran = folder.run(&format!("words train --spam s --ham h -o few --bits {bits} --json"));
        assert_eq!((ran.code, &ran.json()["bits"]), (0, &bits.into()), "{}", ran.err);
        assert_eq!(folder.run("words score s --words few").code, 0);
    }
    // The model's name when nobody names one.
    assert_eq!(folder.run("words score s").code, 0);
    Folder::new().run("words score --json /dev/null").refused(66, "words.bbf");
}

#[test]
fn bits_out_of_range_and_a_corpus_that_is_not_there_are_refused() {
    let folder = folder();
    let mut commands = vec!["words train --spam spammy --ham good -o w"];
    if cfg!(feature = "lab") {
        commands.push("lab run words");
        folder.run("lab report --out report --quick --corpus nowhere").refused(66, "nowhere");
    }
    for command in commands {
        for bits in ["0", "18446744073709551615"] {
            let ran = folder.run(&format!("{command} --bits {bits}"));
            assert!(ran.code == 2 && ran.err.contains(&format!("invalid value '{bits}'")), "{}", ran.err);
        }
    }
}

#[test]
fn damaged_and_foreign_files_are_refused() {
    let folder = folder();
    train(&folder, "");
    let mut bytes = folder.read("words.bbf");
    let last = bytes.len() - 5000;
    bytes[last] ^= 1;
    folder.write("flipped", &bytes);
    folder.write("short", &bytes[..bytes.len() - 1]);
    folder.write("text", "not a model\n");
    folder.keys("keys", 0..10);
    assert_eq!(folder.run("filter build --keys keys -o plain").code, 0);
    for (name, says) in [("flipped", "page"), ("short", "length"), ("text", "length"), ("plain", "kind")] {
        let ran = folder.run(&format!("words score good --words {name}"));
        assert_eq!(ran.code, 65, "{name}: {}", ran.err);
        assert!(ran.err.contains(name) && ran.err.contains(says), "{}", ran.err);
    }
    assert_eq!(folder.run("words score good --words nothing").code, 66);
    let refused = folder.run("filter query words.bbf --keys keys");
    assert!(refused.code == 65 && refused.err.contains("bin filter"), "{}", refused.err);
}

#[test]
fn nothing_to_learn_and_nowhere_to_write_are_said_so() {
    let folder = folder();
    folder.write("nobody", "");
    let ran = folder.run("words train --spam nothing --ham good -o w");
    assert_eq!(ran.code, 66, "{}", ran.err);
    let ran = folder.run("words train --spam empty --ham empty -o w");
    assert!(ran.code == 65 && ran.err.contains("words"), "{}", ran.err);
    let ran = folder.run("words train --spam spammy --ham good -o no/such/folder/w");
    assert_eq!(ran.code, 73, "{}", ran.err);
    let ran = folder.run("words train --spam spammy --ham good -o good");
    assert!(ran.code == 73 && ran.err.contains("one of the inputs"), "{}", ran.err);
    let ran = folder.run("words train --spam spammy --ham good --bins 33 -o w");
    assert!(ran.code == 2 && ran.err.contains("33"), "{}", ran.err);
    assert_eq!(folder.run("words train --spam - --ham - -o w").code, 2);
}

#[test]
#[cfg(feature = "lab")]
fn eval_prints_a_table_and_draws_a_plot() {
    let folder = folder();
    let report =
        folder.run(&format!("words eval --spam spam.mbox {HAM} --folds 3 --plot roc.svg --json")).json();
    assert_eq!((&report["spam_messages"], &report["ham_messages"]), (&60.into(), &15.into()));
    assert!(report["auc"].as_f64() > Some(0.99), "{report}");
    assert!(folder.read("roc.svg").starts_with(b"<svg"));
    let text = folder.run(&format!("words eval --spam spam.mbox {HAM}")).out;
    assert!(text.contains("ham lost") && text.contains("AUC"), "{text}");
    let ran = folder.run(&format!("words eval --spam spammy {HAM}"));
    assert!(ran.code == 65 && ran.err.contains("1 spam messages and 15 good ones; 5 parts"), "{}", ran.err);
}
