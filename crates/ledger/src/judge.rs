//! From tallies to verdicts. The rules, in order:
//!
//! 1. Of a signature: a label has no verdict. Protected is good. Else it is spam if its spam weight reaches the quorum
//!    of its kind and is more than `ratio` times its ham weight; good when the same holds the other way round; else
//!    disputed when there is weight on both sides, and below the quorum when there is some on one.
//! 2. A good signature is ham where it is made of a whole message. A good link, host or part is only a piece, and spam
//!    carries the same pieces: by itself it is unknown.
//! 3. A part names no message. It is spam by the quorum of what many messages share, and only while nobody who is
//!    trusted calls it good; one fully trusted reporter makes it good. The texts of a message as rspamd knows them are
//!    spam by the ordinary quorum where all of them are: a footer that is known from spam decides nothing beside a text
//!    that is not.
//! 4. Of a text's shingles: spam when as many are known as make a replica.
//! 5. Of a message: signatures of it decide first, then its text, then its parts, then what many messages share. Spam
//!    from some, where others of the same class are good, is no verdict. Bulk is said only where neither is. Where a
//!    message has a digest that proves something ([`Kind::proof`]), a good one that a sender could borrow from a
//!    newsletter says nothing: neither that it is ham nor that it is not spam. It is ham where all digests that prove
//!    something are good. Phishing has the words of good mail and another body: that it has those words keeps it from
//!    being called spam, and does not make it ham.
//! 6. A piece never decides alone: a part, a link or a host makes a message spam only where half as many shingles of
//!    its text are known as make a replica. Honest reports of spam that links to a portal would else list every mail
//!    that does, and a common footer is enough for a few shingles.
//! 7. What only a filter in doubt knows is no opinion, neither of a signature nor of a message that nothing else
//!    decides.

use seenit_filter::counting::Count;
use seenit_filter::hash::{Hash128, KeyHasher};
use seenit_filter::tagged::Tags;
use seenit_signature::{Class, Kind, Proof};

use crate::config::LedgerConfig;
use crate::doubt::FilterName;
use crate::journal::{Journal, is_mark};
use crate::keys::shingle_hashes;
use crate::memory::Memory;
use crate::signature::{Case, SignatureRef};
use crate::strangers::STRANGER_NETWORKS_MIN;
use crate::tally::Tally;
use crate::trust::TRUSTED_MIN;
use crate::verdict::{Answer, Judgement, Reason, Rule, Verdict};

/// Rows of the journal that a reason's details are read from. A signature with more reporters is "at least".
const DETAIL_ROWS_MAX: usize = 64;

/// Fewer known shingles are what any two texts of one language share.
pub(crate) const RESEMBLES_MIN: u32 = 5;

/// What one signature says by itself.
pub(crate) fn judge_alone(tally: &Tally, kind: Kind, config: &LedgerConfig) -> (Verdict, Option<Rule>) {
    judge_tally(tally, kind, config.quorum_of(kind), config)
}

/// What one signature says where so many points make it spam.
fn judge_tally(tally: &Tally, kind: Kind, quorum: u32, config: &LedgerConfig) -> (Verdict, Option<Rule>) {
    let (class, outweighs) = (kind.class(), |quorum, one, other| config.outweighs(quorum, one, other));
    let good = if kind.is_whole() { Verdict::Ham } else { Verdict::Unknown };
    let is_part = class == Class::Part;
    let is_vetoed = is_part && tally.ham >= TRUSTED_MIN.into();
    if class == Class::Label {
        (Verdict::Unknown, None)
    } else if tally.marks.protected {
        (good, Some(Rule::Protected))
    } else if outweighs(quorum, tally.spam, tally.ham) && !is_vetoed {
        (Verdict::Spam, Some(Rule::Reported))
    } else if outweighs(if is_part { config.quorum } else { quorum }, tally.ham, tally.spam) {
        (good, Some(Rule::Revoked))
    } else if tally.marks.many && kind.names_message() {
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
    let mut counts = [Count::default(); TOGETHER];
    let counts = &mut counts[..number];
    memory.seen.count_many(signatures, hashes, counts);
    let is_tally_in_doubt = memory.doubts.is_in_doubt(FilterName::Tally);
    let found = words.iter().zip(tags).zip(hashes.iter().zip(counts));
    for ((signature, answer), ((word, tags), (hash, count))) in signatures.iter().zip(answers).zip(found) {
        let bulk = bulk_by(memory, config, *hash, *count, *tags != Tags::default());
        *answer = match is_tally_in_doubt && *word != 0 {
            true => Answer { verdict: Verdict::NoOpinion, ..Answer::default() },
            false => answer_of(&Tally::unpack(*word), signature.kind(), bulk, config),
        };
    }
}

fn answer_of(tally: &Tally, kind: Kind, bulk: Bulk, config: &LedgerConfig) -> Answer {
    let (mut verdict, rule) = judge_alone(tally, kind, config);
    if kind.names_message() && may_be_bulk(verdict, rule) {
        verdict = match bulk {
            Bulk::No => verdict,
            Bulk::Yes => Verdict::Bulk,
            Bulk::InDoubt => Verdict::NoOpinion,
        };
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
    let is_replica = matched >= memory.near.threshold(signature.kind(), config);
    let verdict = match is_replica {
        true if memory.doubts.is_in_doubt(FilterName::Near) => Verdict::NoOpinion,
        true => Verdict::Spam,
        false => Verdict::Unknown,
    };
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
    let judging = Judging { memory, journal, config, generation };
    let are_texts_spam = judging.are_texts_spam(case);
    let mut reasons: Vec<Reason> = case
        .iter()
        .filter_map(|signature| match signature.kind() {
            kind if kind.is_near() => near_reason(memory, config, signature),
            Kind::Rspamd if are_texts_spam => judging.reason(signature, config.quorum),
            kind => judging.reason(signature, config.quorum_of(kind)),
        })
        .collect();
    // All texts of a message are its text; a good one beside them is a footer that others have, too.
    let class = |reason: &Reason| match Kind::from_name(reason.kind) {
        Some(Kind::Rspamd) if are_texts_spam && reason.verdict == Verdict::Spam => Class::Text,
        kind => kind.map_or(Class::Label, Kind::class),
    };
    let proving = case.iter().filter(|signature| signature.kind().proof() > Proof::None).count();
    let proved_good = reasons.iter().filter(|one| one.rule.is_good() && proof(one) > Proof::None).count();
    let believed = Believed {
        pieces: are_pieces_believed(case, &reasons),
        borrowed: proving == 0,
        ham: proved_good == proving,
    };
    let verdict = verdict_of(&reasons, &class, believed);
    // The reasons for the verdict first, of those the ones that prove most.
    reasons.sort_by_key(|reason| (reason.verdict != verdict, class(reason)));
    Judgement { verdict, reasons }
}

/// What a message is judged by.
struct Judging<'a> {
    memory: &'a Memory,
    journal: Option<&'a Journal>,
    config: &'a LedgerConfig,
    generation: u64,
}

/// Who got a message: recipients, and networks of strangers where they are not few.
#[derive(Default)]
struct Counted {
    seen: u64,
    stranger_networks: Option<u32>,
}

impl Judging<'_> {
    /// Whether the texts of a message, as rspamd knows them, were reported by the quorum of one that names it: all but
    /// those that are known to be good.
    fn are_texts_spam(&self, case: &Case) -> bool {
        let mut is_any = false;
        for text in case.iter().filter(|signature| signature.kind() == Kind::Rspamd) {
            let tally = self.tally(self.memory.sip.hash(&text));
            match judge_tally(&tally, Kind::Rspamd, self.config.quorum, self.config) {
                (Verdict::Spam, _) => is_any = true,
                (_, Some(rule)) if rule.is_good() => {}
                _ => return false,
            }
        }
        is_any
    }

    /// What the journal does not confirm is not believed while the tally is in doubt.
    fn is_tally_believed(&self) -> bool {
        self.journal.is_some() || !self.memory.doubts.is_in_doubt(FilterName::Tally)
    }

    fn tally(&self, hash: Hash128) -> Tally {
        if self.is_tally_believed() { self.memory.tally(hash) } else { Tally::default() }
    }

    /// Who got a message with this signature, where that is counted.
    fn counted(&self, signature: SignatureRef<'_>, hash: Hash128) -> Counted {
        if !signature.kind().is_exact() {
            return Counted::default();
        }
        let networks = self.memory.strangers.networks(self.generation, hash);
        Counted {
            seen: self.memory.believed_count(signature, hash),
            stranger_networks: Some(networks).filter(|&networks| networks >= STRANGER_NETWORKS_MIN),
        }
    }

    /// What a signature says where so many points make it spam, with the details that the journal has.
    fn reason(&self, signature: SignatureRef<'_>, quorum: u32) -> Option<Reason> {
        let Judging { memory, journal, config, generation } = *self;
        let (kind, hash) = (signature.kind(), memory.sip.hash(&signature));
        let tally = self.tally(hash);
        let (mut verdict, mut rule) = judge_tally(&tally, kind, quorum, config);
        let in_doubt = (Verdict::NoOpinion, Some(Rule::Overfull));
        if !self.is_tally_believed() && memory.tally(hash) != Tally::default() {
            (verdict, rule) = in_doubt;
        }
        let Counted { seen, stranger_networks } = self.counted(signature, hash);
        if kind.names_message() && may_be_bulk(verdict, rule) {
            match bulk_of(memory, config, generation, (signature, hash)) {
                Bulk::No => {}
                Bulk::Yes => (verdict, rule) = (Verdict::Bulk, Some(Rule::Seen)),
                Bulk::InDoubt => (verdict, rule) = in_doubt,
            }
        }
        if seen > 0 {
            rule = rule.or(Some(Rule::Seen));
        }
        rule = rule.or(stranger_networks.map(|_| Rule::SeenByStrangers));
        let mut reason = Reason {
            digest: Some(hex::encode(signature.digest())),
            weight: tally.spam,
            against: tally.ham,
            quorum,
            raw: tally.raw_spam.into(),
            raw_against: tally.raw_ham.into(),
            saturated: tally.is_saturated(),
            seen: Some(seen).filter(|&seen| seen > 0),
            stranger_networks,
            ..Reason::new(kind, verdict, rule?)
        };
        let journal = journal.filter(|_| tally != Tally::default());
        match journal.map(|journal| details(journal, hash, &tally)) {
            // The tally mistook a stranger for a signature it holds: the journal knows nothing of it.
            Some(Ok(None))
                if !memory.has_lost_records && !matches!(rule, Some(Rule::Seen | Rule::Overfull)) =>
            {
                None
            }
            Some(Ok(Some((reporters, newest)))) => {
                (reason.reporters, reason.generation) = (Some(reporters), newest);
                Some(reason)
            }
            _ => Some(reason),
        }
    }
}

/// Whether many got a message.
enum Bulk {
    No,
    Yes,
    /// Only a filter says so that lies more often than it promises.
    InDoubt,
}

fn bulk_of(
    memory: &Memory,
    config: &LedgerConfig,
    generation: u64,
    (signature, hash): (SignatureRef<'_>, Hash128),
) -> Bulk {
    let is_marked = memory.has_bulk_mark(generation, hash);
    bulk_by(memory, config, hash, memory.seen.count(signature, hash), is_marked)
}

/// The one rule of what is bulk, whether a message is asked about or a signature: many were counted, here and by other
/// sites, or it is marked. A count is known before its mark is durable, and what others saw is marked by nobody.
fn bulk_by(memory: &Memory, config: &LedgerConfig, hash: Hash128, count: Count, is_marked: bool) -> Bulk {
    let threshold = config.bulk_threshold;
    let is_counted =
        count.value >= threshold && count.value.saturating_sub(memory.forgotten_count(hash)) >= threshold;
    let believed = |is: bool, filter: FilterName| is && !memory.doubts.is_in_doubt(filter);
    if believed(is_counted, FilterName::Seen) || believed(is_marked, FilterName::Bulk) {
        Bulk::Yes
    } else if is_counted || is_marked {
        Bulk::InDoubt
    } else {
        Bulk::No
    }
}

/// Reporters with an opinion, and the newest generation of one; `None` where nobody ever said anything.
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
            // Peers' opinions count up to a cap: what they weigh does not say that all were read.
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
        // Half a replica decides as well, beside a link or a part.
        _ if is_half(matched, needed) && memory.doubts.is_in_doubt(FilterName::Near) => {
            (Verdict::NoOpinion, Rule::Overfull)
        }
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

/// Whether so many known shingles are half of those that make a replica.
fn is_half(known: u32, needed: u32) -> bool {
    2 * known >= needed
}

/// Whether parts and links may make a message spam: its text is half a replica. Who asks about pieces alone is told of
/// them.
fn are_pieces_believed(case: &Case, reasons: &[Reason]) -> bool {
    let is_half_a_replica = |reason: &Reason| {
        let shingles = reason.shingles.zip(reason.shingles_needed);
        reason.rule == Rule::Resembles && shingles.is_some_and(|(known, needed)| is_half(known, needed))
    };
    let are_all_pieces = case.iter().all(|signature| signature.kind().class().is_piece());
    are_all_pieces || reasons.iter().any(is_half_a_replica)
}

/// What of a message's reasons is believed.
struct Believed {
    /// That parts, links and hosts make it spam.
    pieces: bool,
    /// That digests are good which a sender could borrow.
    borrowed: bool,
    /// That a good digest makes it ham: no other one that proves as much speaks of another message.
    ham: bool,
}

/// How far what a reason is about proves which message it is.
fn proof(reason: &Reason) -> Proof {
    Kind::from_name(reason.kind).map_or(Proof::None, Kind::proof)
}

/// The verdict of a message: classes that prove more decide first.
fn verdict_of(reasons: &[Reason], class: &impl Fn(&Reason) -> Class, believed: Believed) -> Verdict {
    for decides in [Class::Whole, Class::AllParts, Class::Text, Class::Part, Class::Shared] {
        let any = |is: &dyn Fn(&Reason) -> bool| reasons.iter().any(|one| class(one) == decides && is(one));
        let is_good = any(&|one| {
            let is_believed = believed.borrowed || decides != Class::Whole || proof(one) > Proof::None;
            is_believed && one.rule.is_good()
        });
        let is_spam = (believed.pieces || !decides.is_piece()) && any(&|one| one.verdict == Verdict::Spam);
        match is_spam {
            true if is_good => return Verdict::Unknown,
            true => return Verdict::Spam,
            // Only digests of whole messages say ham, and nothing less makes spam of one that is good.
            false if is_good && decides == Class::Whole => {
                return if believed.ham { Verdict::Ham } else { Verdict::Unknown };
            }
            false => {}
        }
    }
    let is_any = |verdict| reasons.iter().any(|reason| reason.verdict == verdict);
    let undecided = [Verdict::Bulk, Verdict::NoOpinion].into_iter().find(|verdict| is_any(*verdict));
    undecided.unwrap_or(Verdict::Unknown)
}
