//! What rspamd computes: vectors captured from it, and that any bytes are mail.

use proptest::prelude::*;
use seenit_signature::rspamd::{self, Algorithm, Keys};
use serde_json::Value;

const VECTORS: &str = include_str!("vectors/rspamd/shingles-spam1.json");

fn vectors() -> Value {
    serde_json::from_str(VECTORS).expect("the vectors are JSON")
}

fn strings(value: &Value) -> Vec<String> {
    let items = value.as_array().expect("a list of strings");
    items.iter().map(|item| item.as_str().expect("a list of strings").to_owned()).collect()
}

#[test]
fn the_digest_is_that_of_the_vectors() {
    let vectors = vectors();
    let digest = rspamd::digest(&strings(&vectors["stemmed_words"]), &Keys::default());
    let text: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(Some(text.as_str()), vectors["digest"].as_str());
}

#[test]
fn shingles_are_those_of_the_vectors() {
    let vectors = vectors();
    let words = strings(&vectors["stemmed_words"]);
    for (name, algorithm) in
        [("mumhash", Algorithm::Mum), ("xxhash", Algorithm::Xx), ("siphash", Algorithm::Sip)]
    {
        let shingles = rspamd::shingles(&words, &Keys::default(), algorithm).expect("enough words");
        let texts: Vec<String> = shingles.iter().map(u64::to_string).collect();
        assert_eq!(texts, strings(&vectors["shingles"][name]), "{name}");
    }
}

/// Messages, and how the digests begin that rspamd sent for their text.
#[test]
fn messages_have_the_digests_that_rspamd_sent() {
    let messages: [(&[u8], &str); 5] = [
        (include_bytes!("vectors/rspamd/spam1.eml"), "5d721d7c90abb88f687a7b4767040854"),
        (include_bytes!("vectors/rspamd/near1.eml"), "e762aa1e2459a1836f6fe5905c5e54df"),
        (include_bytes!("vectors/rspamd/mid1.eml"), "b747daad48bd2fc08d0a68b7e58bc64d"),
        (include_bytes!("vectors/rspamd/ham1.eml"), "ff392badd160466f377eaa1561d9a62f"),
        (include_bytes!("vectors/rspamd/attach1.eml"), "5d721d7c90abb88f687a7b4767040854"),
    ];
    for (mail, start) in messages {
        let digest = rspamd::digest(&rspamd::words(mail), &Keys::default());
        let text: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(text.starts_with(start), "{text} should begin with {start}");
    }
}

/// Texts that could be slow to break into words, or to stem.
#[test]
fn large_texts_end() {
    let marks = ["a", &"\u{300}".repeat(100_000)].concat();
    let texts = [
        "a".repeat(400_000),
        "a'".repeat(100_000),
        "a.1:".repeat(100_000),
        "\u{1f1e6}".repeat(60_000),
        marks,
    ];
    let links = ["http://a.com<", "tel: 1 ", "tel:", "a@b.", "www.", "://", "ing", "a.b.c.d."]
        .map(|link| link.repeat(40_000));
    for text in texts.iter().chain(&links) {
        for kind in ["plain", "html"] {
            rspamd::parts(format!("Content-Type: text/{kind}; charset=utf-8\n\n{text}").as_bytes());
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_mail(mail in prop::collection::vec(any::<u8>(), 0..2000)) {
        rspamd::words(&mail);
    }

    #[test]
    fn any_text_has_words(text in "[ -~éß@:.'<>/=\\u{200b}\\u{ad}\\u{3a3}\\u{1f600}\n]{0,300}", html in any::<bool>()) {
        let kind = if html { "html" } else { "plain" };
        let words = rspamd::words(format!("Content-Type: text/{kind}; charset=utf-8\n\n{text}").as_bytes());
        prop_assert!(words.iter().all(|word| !word.is_empty()));
    }

    #[test]
    fn any_text_with_links_has_words(text in "(http://|tel:|mailto:|www\\.|@|é|a\\.com|b|[ '<.,\"/]){0,40}") {
        rspamd::words(format!("\n{text}").as_bytes());
    }

    #[test]
    fn any_words_have_a_digest(words in prop::collection::vec(any::<String>(), 0..100)) {
        let keys = Keys::new(b"one", b"two");
        rspamd::digest(&words, &keys);
        for algorithm in [Algorithm::Mum, Algorithm::Xx, Algorithm::Sip] {
            let shingles = rspamd::shingles(&words, &keys, algorithm);
            prop_assert_eq!(shingles.is_some(), words.len() >= rspamd::WORDS_MIN);
        }
    }
}
