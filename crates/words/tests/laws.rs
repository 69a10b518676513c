//! Guards the laws of a model of words: no word that was put in is missed, stated errors are the measured ones, a file
//! gives back what was trained, and nobody is surer than the training messages allow.

use seenit_filter::file::{self, BinFile, FileView, Note};
use seenit_filter::hash::{Hash128, KeyHasher, SipKey};
use seenit_filter::random::SplitMix;
use seenit_words::{Model, Options, Side, Summary, Trained, Trainer, WordsError};

fn word(number: u64) -> Hash128 {
    SipKey::public().hash(&number.to_le_bytes())
}

/// Words 0..1000 are of spam, 1000..2000 of good mail, 2000..3000 of both; each message has 20 of its side, 20 of both
/// and 5 of its own.
fn message(side: Side, random: &mut SplitMix) -> Vec<Hash128> {
    let first = if side == Side::Spam { 0 } else { 1000 };
    let mut words: Vec<Hash128> = (0..20).map(|_| word(first + random.below(1000))).collect();
    words.extend((0..20).map(|_| word(2000 + random.below(1000))));
    words.extend((0..5).map(|_| Hash128 { lo: random.next(), hi: random.next() }));
    words.sort_unstable_by_key(|word| (word.hi, word.lo));
    words.dedup();
    words
}

fn trained(options: &Options) -> (Trainer, Trained) {
    let (mut trainer, mut random) = (Trainer::new(), SplitMix(4));
    for _ in 0..500 {
        trainer.learn(Side::Spam, &message(Side::Spam, &mut random));
        trainer.learn(Side::Ham, &message(Side::Ham, &mut random));
    }
    let trained = trainer.train(options).expect("two sides");
    (trainer, trained)
}

fn bytes_of(file: &BinFile) -> Vec<u8> {
    let mut bytes = Vec::new();
    file::write(file, &mut bytes).expect("memory takes any bytes");
    bytes
}

#[test]
fn a_word_is_always_found_in_its_bin() {
    for annealing_seed in [None, Some(3)] {
        let (trainer, Trained { model, summary }) =
            trained(&Options { annealing_seed, ..Options::default() });
        let (mut found, mut alone) = (0, 0);
        for (hash, weight) in trainer.weights().into_iter().filter(|&(_, weight)| weight != 0.0) {
            let fired = model.fired(hash);
            let bins = model.file().filter.bins().zip(model.file().filter.places());
            let mine = bins.filter(|(_, place)| fired >> place & 1 == 1);
            let right = mine.filter(|((bin, _), _)| (bin.weight > 0.0) == (weight > 0.0)).count();
            assert!(right > 0, "a word of weight {weight} is in no bin of its side");
            (found, alone) = (found + 1, alone + u32::from(fired.count_ones() == 1));
        }
        assert_eq!(found, summary.spam_words + summary.good_words);
        assert!(f64::from(alone) > 0.8 * found as f64, "{alone} of {found}");
    }
}

#[test]
fn the_stated_ham_credit_is_the_measured_one() {
    let (_, Trained { model, summary }) = trained(&Options { bits: Some(20_000), ..Options::default() });
    let mut random = SplitMix(8);
    let strangers = 200_000;
    let (mut credit, mut fired_at_rate) = (0.0, 0.0);
    for _ in 0..strangers {
        let fired = model.fired(Hash128 { lo: random.next(), hi: random.next() });
        for ((bin, _), place) in model.file().filter.bins().zip(model.file().filter.places()) {
            credit += if bin.weight > 0.0 && fired >> place & 1 == 1 { bin.weight } else { 0.0 };
        }
    }
    for (bin, filter) in model.file().filter.bins().filter(|(bin, _)| bin.weight > 0.0) {
        fired_at_rate += bin.weight * filter.present_rate();
    }
    let measured = credit / f64::from(strangers);
    assert!((measured / fired_at_rate - 1.0).abs() < 0.1, "{measured}, by the bits {fired_at_rate}");
    assert!((measured / summary.expected_ham_credit - 1.0).abs() < 0.25, "{measured} {summary:?}");
    assert_eq!(model.file().note("expected ham credit"), Some(summary.expected_ham_credit));
}

#[test]
fn messages_of_either_side_are_told_apart_and_nobody_is_too_sure() {
    let (_, Trained { model, summary }) = trained(&Options::default());
    let (mut random, mut right) = (SplitMix(77), 0);
    let limits = |Summary { messages, .. }: Summary| {
        (1.0 / f64::from(messages.ham + 2), 1.0 - 1.0 / f64::from(messages.spam + 2))
    };
    let (least, most) = limits(summary);
    for _ in 0..500 {
        for side in [Side::Spam, Side::Ham] {
            let probability = model.opinion(&message(side, &mut random)).expect("words").probability;
            assert!((least..=most).contains(&probability), "{probability}");
            right += u32::from((probability > 0.5) == (side == Side::Spam));
        }
    }
    assert!(right > 990, "{right} of 1000");
    assert!(model.opinion(&[]).is_none(), "no words, no opinion");
}

#[test]
fn a_file_gives_back_the_model() {
    let (_, Trained { model, .. }) = trained(&Options::default());
    let bytes = bytes_of(model.file());
    assert!(bytes == bytes_of(trained(&Options::default()).1.model.file()), "equal messages, equal files");
    let read = Model::open(&FileView::open(&bytes).expect("sound")).expect("a model");
    let mut random = SplitMix(5);
    for side in [Side::Spam, Side::Ham] {
        let words = message(side, &mut random);
        assert_eq!(read.opinion(&words), model.opinion(&words));
    }
}

#[test]
fn a_bin_filter_that_is_no_model_is_refused_by_the_note_it_lacks() {
    let (_, Trained { model, .. }) = trained(&Options::default());
    let spoiled = |spoil: &dyn Fn(&mut Note)| {
        let mut file = FileView::open(&bytes_of(model.file())).expect("sound").to_bins().expect("bins");
        file.notes.iter_mut().for_each(spoil);
        let bytes = bytes_of(&file);
        let refused = Model::open(&FileView::open(&bytes).expect("sound"));
        refused.expect_err("no model").to_string()
    };
    for (name, value) in [("token rule", 2.0), ("spam messages", 0.0), ("missed share, ham", 0.0)] {
        let refused = spoiled(&|note| note.value = if note.name == name { value } else { note.value });
        assert!(refused.contains(name) && refused.contains(&value.to_string()), "{refused}");
    }
    let refused = spoiled(&|note| note.name = note.name.replace("slope", "slant"));
    assert!(refused.contains("slope") && refused.contains("no such note"), "{refused}");
}

#[test]
fn nothing_to_learn_is_said_so() {
    let mut trainer = Trainer::new();
    assert!(matches!(trainer.train(&Options::default()), Err(WordsError::OneSided { spam: 0, ham: 0 })));
    trainer.learn(Side::Spam, &[word(1)]);
    assert!(matches!(trainer.train(&Options::default()), Err(WordsError::OneSided { spam: 1, ham: 0 })));
    trainer.learn(Side::Ham, &[word(1)]);
    assert!(matches!(trainer.train(&Options::default()), Err(WordsError::NoWeights { words: 1 })));
    trainer.learn(Side::Ham, &[word(2)]);
    assert!(trainer.train(&Options::default()).is_ok(), "one good word is enough");
    let none = Options { bins: 0, ..Options::default() };
    assert!(matches!(trainer.train(&none), Err(WordsError::Bins { bins: 0, .. })));
}
