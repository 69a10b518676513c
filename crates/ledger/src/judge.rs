//! From tallies to verdicts. The rules, in order:
//!
//! 1. Of a signature: a label has no verdict. Protected is good. Else it is spam if its spam weight reaches the quorum
//!    of its kind and is more than `ratio` times its ham weight; good when the same holds the other way round; else
//!    disputed when there is weight on both sides, and below the quorum when there is some on one.
//! 2. A good signature is ham where it is made of a whole message. A good link, host or part is only a piece, and spam
//!    carries the same pieces: by itself it is unknown.
//! 3. Of a text's shingles: spam when as many are known as make a replica.
//! 4. Of a message: signatures that name one message decide before those that many messages share. Spam from some,
//!    where others of the same rank are good, is no verdict. Bulk is said only where neither is.

use seenit_filter::hash::{Hash128, KeyHasher};
use seenit_filter::tagged::Tags;
use seenit_signature::Kind;

use crate::config::LedgerConfig;
use crate::journal::{Journal, is_mark};
use crate::keys::shingle_hashes;
use crate::memory::Memory;
use crate::signature::{Case, SignatureRef};
use crate::tally::Tally;
use crate::verdict::{Answer, Judgement, Reason, Rule, Verdict};

/// Rows of the journal that a reason's details are read from. A signature with more reporters is "at least".
const DETAIL_ROWS_MAX: usize = 64;

/// Fewer known shingles are what any two texts of one language share.
pub(crate) const RESEMBLES_MIN: u32 = 5;

/// What one signature says by itself.
pub(crate) fn judge_tally(tally: &Tally, kind: Kind, config: &LedgerConfig) -> (Verdict, Option<Rule>) {
    let outweighs = |one: u32, other: u32| config.outweighs(kind, one, other);
    let good = if kind.is_whole() { Verdict::Ham } else { Verdict::Unknown };
    if kind.is_label() {
        (Verdict::Unknown, None)
    } else if tally.marks.protected {
        (good, Some(Rule::Protected))
    } else if outweighs(tally.spam, tally.ham) {
        (Verdict::Spam, Some(Rule::Reported))
    } else if outweighs(tally.ham, tally.spam) {
        (good, Some(Rule::Revoked))
    } else if tally.marks.many && kind.is_exact() {
        (Verdict::Bulk, Some(Rule::Many))
    } else if tally.spam > 0 && tally.ham > 0 {
        (Verdict::Unknown, Some(Rule::Disputed))
    } else if tally.spam.max(tally.ham) > 0 || tally.raw_spam.max(tally.raw_ham) > 0 {
        (Verdict::Unknown, Some(Rule::BelowQuorum))
    } else {
        (Verdict::Unknown, None)
    }
}

/// Whether a signature that says this by itself is bulk where many got it: not where it is known to be good.
fn may_be_bulk(verdict: Verdict, rule: Option<Rule>) -> bool {
    verdict == Verdict::Unknown && !rule.is_some_and(Rule::is_good)
}

/// Signatures that are looked up together: enough that one waits for memory while others are hashed, few enough that
/// what is known of them lies on the stack.
const TOGETHER: usize = 128;

/// Judges signatures one by one, from memory alone.
pub(crate) fn answers(
    memory: &Memory,
    config: &LedgerConfig,
    generation: u64,
    signatures: &[SignatureRef<'_>],
    answers: &mut [Answer],
) {
    let mut rest = answers;
    for run in signatures.chunk_by(|one, next| one.kind().is_near() == next.kind().is_near()) {
        let (answers, later) = rest.split_at_mut(run.len());
        if run.iter().any(|signature| signature.kind().is_near()) {
            for (signature, answer) in run.iter().zip(answers) {
                *answer = near_answer(memory, config, *signature);
            }
        } else {
            for (signatures, answers) in run.chunks(TOGETHER).zip(answers.chunks_mut(TOGETHER)) {
                together(memory, config, generation, signatures, answers);
            }
        }
        rest = later;
    }
}

/// Judges up to [`TOGETHER`] signatures that are no shingles.
fn together(
    memory: &Memory,
    config: &LedgerConfig,
    generation: u64,
    signatures: &[SignatureRef<'_>],
    answers: &mut [Answer],
) {
    let number = signatures.len();
    let (mut hashes, mut words) = ([Hash128::default(); TOGETHER], [0; TOGETHER]);
    let mut tags = [Tags::default(); TOGETHER];
    let (hashes, words, tags) = (&mut hashes[..number], &mut words[..number], &mut tags[..number]);
    memory.sip.hash_many(signatures, hashes);
    memory.table.get_many(hashes, words);
    memory.bulk_many(hashes, generation, tags);
    for ((signature, answer), (word, tags)) in signatures.iter().zip(answers).zip(words.iter().zip(tags)) {
        *answer = answer_of(&Tally::unpack(*word), signature.kind(), *tags != Tags::default(), config);
    }
}

fn answer_of(tally: &Tally, kind: Kind, is_bulk: bool, config: &LedgerConfig) -> Answer {
    let (mut verdict, rule) = judge_tally(tally, kind, config);
    if is_bulk && kind.is_exact() && may_be_bulk(verdict, rule) {
        verdict = Verdict::Bulk;
    }
    Answer {
        verdict,
        weight: tally.spam as u16,
        against: tally.ham as u16,
        raw: tally.raw_spam as u16,
        raw_against: tally.raw_ham as u16,
        protected: tally.marks.protected,
        good: rule.is_some_and(Rule::is_good),
        many: tally.marks.many,
        saturated: tally.is_saturated(),
    }
}

fn near_answer(memory: &Memory, config: &LedgerConfig, signature: SignatureRef<'_>) -> Answer {
    let matched = memory.near.matched(&shingle_hashes(signature, &memory.sip));
    let is_spam = matched >= memory.near.threshold(signature.kind(), config);
    let verdict = if is_spam { Verdict::Spam } else { Verdict::Unknown };
    Answer { verdict, weight: matched as u16, ..Answer::default() }
}

/// Judges a message by all its signatures.
pub(crate) fn judge(
    memory: &Memory,
    journal: Option<&Journal>,
    config: &LedgerConfig,
    generation: u64,
    case: &Case,
) -> Judgement {
    if case.is_empty() {
        return Judgement { verdict: Verdict::NoOpinion, reasons: Vec::new() };
    }
    let mut reasons: Vec<Reason> = case
        .iter()
        .filter_map(|signature| match signature.kind() {
            kind if kind.is_near() => near_reason(memory, config, signature),
            _ => reason(memory, journal, config, generation, signature),
        })
        .collect();
    let verdict = verdict_of(&reasons);
    // The reasons for the verdict first, of those the ones that name one message.
    reasons.sort_by_key(|reason| (reason.verdict != verdict, rank(reason)));
    Judgement { verdict, reasons }
}

/// What a signature says, with the details that the journal has.
pub(crate) fn reason(
    memory: &Memory,
    journal: Option<&Journal>,
    config: &LedgerConfig,
    generation: u64,
    signature: SignatureRef<'_>,
) -> Option<Reason> {
    let (kind, hash) = (signature.kind(), memory.sip.hash(&signature));
    let tally = memory.tally(hash);
    let (mut verdict, mut rule) = judge_tally(&tally, kind, config);
    let seen = if kind.is_exact() { memory.seen_count(signature, hash).value } else { 0 };
    // The count is known before its promotion is durable.
    let is_bulk = kind.is_exact() && (seen >= config.bulk_threshold || memory.is_bulk(generation, hash));
    if is_bulk && may_be_bulk(verdict, rule) {
        (verdict, rule) = (Verdict::Bulk, Some(Rule::Seen));
    }
    if seen > 0 {
        rule = rule.or(Some(Rule::Seen));
    }
    let mut reason = Reason {
        digest: Some(hex::encode(signature.digest())),
        weight: tally.spam,
        against: tally.ham,
        quorum: config.quorum_of(kind),
        raw: tally.raw_spam.into(),
        raw_against: tally.raw_ham.into(),
        saturated: tally.is_saturated(),
        ..Reason::new(kind, verdict, rule?)
    };
    reason.seen = Some(seen).filter(|&seen| seen > 0);
    let journal = journal.filter(|_| tally != Tally::default());
    match journal.map(|journal| details(journal, hash, &tally)) {
        // The tally mistook a stranger for a signature it holds: the journal knows nothing of it.
        Some(Ok(None)) if rule != Some(Rule::Seen) => None,
        Some(Ok(Some((reporters, newest)))) => {
            (reason.reporters, reason.generation) = (Some(reporters), newest);
            Some(reason)
        }
        _ => Some(reason),
    }
}

/// Reporters with a word, and the newest generation of one; `None` where nobody ever said anything.
fn details(
    journal: &Journal,
    hash: Hash128,
    tally: &Tally,
) -> Result<Option<(u32, Option<u64>)>, crate::journal::JournalError> {
    let (mut spoken, mut newest, mut weight, mut is_any) = (Vec::new(), None, 0, false);
    for generation in journal.live() {
        for (reporter, row) in journal.rows_of(generation, hash, DETAIL_ROWS_MAX)? {
            is_any = true;
            if is_mark(reporter) || spoken.contains(&reporter) {
                continue;
            }
            spoken.push(reporter);
            newest = newest.or(Some(generation));
            // Peers' words count up to a cap: what they weigh does not say that all were read.
            weight += if reporter.slot().is_none() { u32::from(row.weight) } else { 0 };
        }
        let is_all = is_any && weight >= tally.spam + tally.ham;
        if is_all || spoken.len() >= DETAIL_ROWS_MAX {
            break;
        }
    }
    Ok(is_any.then_some((spoken.len() as u32, newest)))
}

fn near_reason(memory: &Memory, config: &LedgerConfig, signature: SignatureRef<'_>) -> Option<Reason> {
    let matched = memory.near.matched(&shingle_hashes(signature, &memory.sip));
    let needed = memory.near.threshold(signature.kind(), config);
    let (verdict, rule) = match matched {
        _ if matched >= needed => (Verdict::Spam, Rule::Replica),
        RESEMBLES_MIN.. => (Verdict::Unknown, Rule::Resembles),
        _ => return None,
    };
    Some(Reason {
        shingles: Some(matched),
        shingles_needed: Some(needed),
        ..Reason::new(signature.kind(), verdict, rule)
    })
}

/// Which reasons decide first: those that name one message, then its text, then what many messages share.
fn rank(reason: &Reason) -> u8 {
    match Kind::from_name(reason.kind) {
        Some(kind) if kind.is_exact() => 0,
        Some(kind) if kind.is_near() => 1,
        _ => 2,
    }
}

fn verdict_of(reasons: &[Reason]) -> Verdict {
    for decides in 0..=2 {
        let any = |is: &dyn Fn(&Reason) -> bool| reasons.iter().any(|one| rank(one) == decides && is(one));
        let is_spam = any(&|one| one.verdict == Verdict::Spam);
        match is_spam {
            true if any(&|one| one.rule.is_good()) => return Verdict::Unknown,
            true => return Verdict::Spam,
            false if any(&|one| one.verdict == Verdict::Ham) => return Verdict::Ham,
            false => {}
        }
    }
    let is_bulk = reasons.iter().any(|reason| reason.verdict == Verdict::Bulk);
    if is_bulk { Verdict::Bulk } else { Verdict::Unknown }
}
