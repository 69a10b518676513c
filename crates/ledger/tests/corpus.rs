//! The README's advice on real mail: protect the good mail you have. It must not vouch for a single spam message.

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use common::*;
use seenit_ledger::{Case, LedgerConfig, Verdict};
use seenit_mailbox::{MailError, Mailbox};
use seenit_signature::razor::Ep4;

/// Messages of one write.
const BATCH: usize = 200;

/// Beside the checkout, or where the variable says.
fn shared_corpus() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let folder = std::env::var_os("SEENIT_CORPUS").map_or(beside, PathBuf::from);
    folder.join("index.tsv").is_file().then_some(folder)
}

/// The cases of ham and of spam. The folder that a message lies in says which it is.
fn cases(folder: &Path) -> [Vec<(String, Case)>; 2] {
    let archives = ["spamassassin.tar.zst", "phishing-pot.tar.zst"].map(|name| folder.join(name));
    let (mut ham, mut spam) = (Vec::new(), Vec::new());
    let mut message = |name: &str, mail: &[u8]| {
        let case = Case::of_message(mail, &Ep4::default());
        let side = if name.contains("-ham-") { &mut ham } else { &mut spam };
        if !case.is_empty() {
            side.push((name.to_owned(), case));
        }
        Ok::<(), MailError>(())
    };
    Mailbox::find(&archives).expect("found").each_message(&mut message).expect("readable");
    [ham, spam]
}

#[test]
fn protecting_all_ham_of_the_corpus_makes_no_spam_ham() {
    let Some(corpus) = shared_corpus() else {
        println!("skipped: there is no shared corpus beside the checkout, and SEENIT_CORPUS is not set");
        return;
    };
    let [ham, spam] = cases(&corpus);
    assert!(ham.len() > 4000 && spam.len() > 3600, "{} ham, {} spam", ham.len(), spam.len());
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open_with(folder.path(), &hands, LedgerConfig { capacity: 1_000_000, ..config() });
    for batch in ham.chunks(BATCH) {
        ledger.protect(batch.iter().map(|(_, case)| case.clone()).collect()).expect("durable");
    }
    let mut vouched: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, case) in &spam {
        let judgement = ledger.check(case);
        assert_ne!(judgement.verdict, Verdict::Spam, "{name}: nothing was reported");
        if judgement.verdict == Verdict::Ham {
            vouched.entry(judgement.reasons[0].kind.as_str()).or_default().push(name);
        }
    }
    let counts: Vec<(&str, usize)> = vouched.iter().map(|(kind, names)| (*kind, names.len())).collect();
    assert!(vouched.is_empty(), "{counts:?} of {} spam messages are ham, such as {vouched:?}", spam.len());
    // The others have too little text for a digest of the whole message: pieces are all there is to know them by.
    let is_ham = |(_, case): &&(String, Case)| ledger.check(case).verdict == Verdict::Ham;
    let protected = ham.iter().filter(is_ham).count();
    assert!(protected * 100 >= ham.len() * 97, "{protected} of {} protected messages are ham", ham.len());
}
