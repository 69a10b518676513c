//! What rspamd computes: vectors captured from it.

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

proptest! {
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
