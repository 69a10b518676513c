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

use crate::anonymous::ANONYMOUS_NETWORKS_MIN;
use crate::config::LedgerConfig;
use crate::doubt::FilterName;
use crate::journal::{Journal, KeyRow, is_mark};
use crate::keys::shingle_hashes;
use crate::memory::Memory;
use crate::signature::{Case, SignatureRef};
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
    let class = kind.class();
    let outweighs = |quorum, one, other| config.outweighs(quorum, one, other);
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

/// Signatures that are looked up together: enough that one waits for memory while others are hashed, few enough that
/// what is known of them lies on the stack.
const TOGETHER: usize = 128;

/// Judges signatures and messages by what a site remembers.
#[derive(Clone, Copy)]
pub(crate) struct Judge<'a> {
    pub(crate) memory: &'a Memory,
    pub(crate) config: &'a LedgerConfig,
    pub(crate) generation: u64,
    /// Where details are read, and accidents of the tally found out. Without it memory alone answers.
    pub(crate) journal: Option<&'a Journal>,
}

/// What memory knows of a signature, by its one hash. Shingles are looked up apart.
#[derive(Clone, Copy, Default)]
struct Known {
    hash: Hash128,
    /// Nothing, where the tally is in doubt.
    tally: Tally,
    /// Whether the tally says something and is in doubt.
    is_in_doubt: bool,
    count: Count,
    has_bulk_mark: bool,
}

/// A signature of a message, and what is known of it.
struct Asked<'a> {
    signature: SignatureRef<'a>,
    known: Known,
}

impl Judge<'_> {
    /// Judges signatures one by one.
    pub(crate) fn signatures(&self, signatures: &[SignatureRef<'_>], answers: &mut [Answer]) {
        let mut rest = answers;
        for run in signatures.chunk_by(|one, next| one.kind().is_near() == next.kind().is_near()) {
            let (answers, later) = rest.split_at_mut(run.len());
            rest = later;
            if run.iter().any(|signature| signature.kind().is_near()) {
                for (signature, answer) in run.iter().zip(answers) {
                    *answer = self.near_answer(*signature);
                }
                continue;
            }
            for (signatures, answers) in run.chunks(TOGETHER).zip(answers.chunks_mut(TOGETHER)) {
                let mut known = [Known::default(); TOGETHER];
                let known = &mut known[..signatures.len()];
                self.look_up(signatures, known);
                for ((signature, known), answer) in signatures.iter().zip(known).zip(answers) {
                    *answer = self.answer(signature.kind(), known);
                }
            }
        }
    }

    /// Judges a message by all its signatures.
    pub(crate) fn message(&self, case: &Case) -> Judgement {
        let together = case.with_razor_together();
        let asked = self.asked(together.as_ref().unwrap_or(case));
        if asked.is_empty() {
            return Judgement { verdict: Verdict::NoOpinion, reasons: Vec::new() };
        }
        let are_texts_spam = self.are_texts_spam(&asked);
        let reason = |asked: &Asked<'_>| match asked.signature.kind() {
            kind if kind.is_near() => self.near_reason(asked.signature),
            Kind::Rspamd if are_texts_spam => self.reason(asked, self.config.quorum),
            kind => self.reason(asked, self.config.quorum_of(kind)),
        };
        let mut reasons: Vec<Reason> = asked.iter().filter_map(reason).collect();
        // All texts of a message are its text; a good one beside them is a footer that others have, too.
        let class = |reason: &Reason| match reason.kind {
            Kind::Rspamd if are_texts_spam && reason.verdict == Verdict::Spam => Class::Text,
            kind => kind.class(),
        };
        let proves = |kind: Kind| kind.proof() > Proof::None;
        let proving = asked.iter().filter(|asked| proves(asked.signature.kind())).count();
        let proved_good = reasons.iter().filter(|one| one.rule.is_good() && proves(one.kind)).count();
        let believed = Believed {
            pieces: are_pieces_believed(&asked, &reasons),
            borrowed: proving == 0,
            ham: proved_good == proving,
        };
        let verdict = verdict_of(&reasons, &class, believed);
        // The reasons for the verdict first, of those the ones that prove most.
        reasons.sort_by_key(|reason| (reason.verdict != verdict, class(reason)));
        Judgement { verdict, reasons }
    }

    /// The signatures of a message that could be anybody's, each looked up once.
    fn asked<'c>(&self, case: &'c Case) -> Vec<Asked<'c>> {
        let exact: Vec<SignatureRef<'_>> = case.iter().filter(|one| !one.kind().is_near()).collect();
        let mut known = vec![Known::default(); exact.len()];
        for (signatures, known) in exact.chunks(TOGETHER).zip(known.chunks_mut(TOGETHER)) {
            self.look_up(signatures, known);
        }
        let mut known = known.into_iter();
        let asked = case.iter().map(|signature| {
            let known = if signature.kind().is_near() { None } else { known.next() };
            Asked { signature, known: known.unwrap_or_default() }
        });
        asked.filter(|asked| !self.memory.degenerate.contains(&asked.known.hash)).collect()
    }

    /// Looks up to [`TOGETHER`] signatures up that are no shingles.
    fn look_up(&self, signatures: &[SignatureRef<'_>], known: &mut [Known]) {
        let memory = self.memory;
        let number = signatures.len();
        let mut hashes = [Hash128::default(); TOGETHER];
        let mut tallies = [0; TOGETHER];
        let mut tags = [Tags::default(); TOGETHER];
        let mut counts = [Count::default(); TOGETHER];
        let hashes = &mut hashes[..number];
        memory.sip.hash_many(signatures, hashes);
        memory.table.get_many(hashes, &mut tallies[..number]);
        memory.bulk_many(hashes, self.generation, &mut tags[..number]);
        memory.seen.count_many(signatures, hashes, &mut counts[..number]);
        // What the journal does not confirm is not believed while the tally is in doubt.
        let is_in_doubt = self.journal.is_none() && memory.doubts.is_in_doubt(FilterName::Tally);
        for (place, known) in known.iter_mut().enumerate() {
            *known = Known {
                hash: hashes[place],
                tally: if is_in_doubt { Tally::default() } else { Tally::unpack(tallies[place]) },
                is_in_doubt: is_in_doubt && tallies[place] != 0,
                count: counts[place],
                has_bulk_mark: tags[place] != Tags::default(),
            };
        }
    }

    /// What one signature says, where so many points make it spam.
    fn says(&self, kind: Kind, known: &Known, quorum: u32) -> (Verdict, Option<Rule>) {
        let in_doubt = (Verdict::NoOpinion, Some(Rule::Overfull));
        if known.is_in_doubt {
            return in_doubt;
        }
        let (verdict, rule) = judge_tally(&known.tally, kind, quorum, self.config);
        // Not where it is known to be good.
        let may_be_bulk = verdict == Verdict::Unknown && !rule.is_some_and(Rule::is_good);
        match may_be_bulk && kind.names_message() {
            true => match self.bulk(known) {
                Bulk::No => (verdict, rule),
                Bulk::Yes => (Verdict::Bulk, Some(Rule::Seen)),
                Bulk::InDoubt => in_doubt,
            },
            false => (verdict, rule),
        }
    }

    /// The one rule of what is bulk: many were counted, here and by other sites, or it is marked. A count is known
    /// before its mark is durable, and what others saw is marked by nobody.
    fn bulk(&self, known: &Known) -> Bulk {
        let threshold = self.config.bulk_threshold;
        let is_counted = known.count.value >= threshold && self.recipients(known) >= threshold;
        let believed = |is: bool, filter: FilterName| is && !self.memory.doubts.is_in_doubt(filter);
        if believed(is_counted, FilterName::Seen) || believed(known.has_bulk_mark, FilterName::Bulk) {
            Bulk::Yes
        } else if is_counted || known.has_bulk_mark {
            Bulk::InDoubt
        } else {
            Bulk::No
        }
    }

    /// Recipients that were counted, less those that were forgotten.
    fn recipients(&self, known: &Known) -> u64 {
        known.count.value.saturating_sub(self.memory.forgotten_count(known.hash))
    }

    fn answer(&self, kind: Kind, known: &Known) -> Answer {
        let (verdict, rule) = self.says(kind, known, self.config.quorum_of(kind));
        let tally = &known.tally;
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

    /// Whether the texts of a message, as rspamd knows them, were reported by the quorum of one that names it: all but
    /// those that are known to be good.
    fn are_texts_spam(&self, asked: &[Asked<'_>]) -> bool {
        let mut is_any = false;
        for text in asked.iter().filter(|asked| asked.signature.kind() == Kind::Rspamd) {
            match judge_tally(&text.known.tally, Kind::Rspamd, self.config.quorum, self.config) {
                (Verdict::Spam, _) => is_any = true,
                (_, Some(rule)) if rule.is_good() => {}
                _ => return false,
            }
        }
        is_any
    }

    /// What a signature says where so many points make it spam, with the details that the journal has.
    fn reason(&self, asked: &Asked<'_>, quorum: u32) -> Option<Reason> {
        let Asked { signature, known } = asked;
        let kind = signature.kind();
        let tally = &known.tally;
        let (verdict, mut rule) = self.says(kind, known, quorum);
        let mut seen = None;
        let mut anonymous_networks = None;
        if kind.is_exact() {
            let is_believed = !self.memory.doubts.is_in_doubt(FilterName::Seen);
            seen = is_believed.then(|| self.recipients(known)).filter(|&seen| seen > 0);
            let networks = self.memory.anonymous.networks(self.generation, known.hash);
            anonymous_networks = Some(networks).filter(|&networks| networks >= ANONYMOUS_NETWORKS_MIN);
        }
        rule = rule.or(seen.map(|_| Rule::Seen)).or(anonymous_networks.map(|_| Rule::SeenByAnonymous));
        let mut reason = Reason {
            digest: Some(hex::encode(signature.digest())),
            weight: tally.spam,
            against: tally.ham,
            quorum,
            raw: tally.raw_spam.into(),
            raw_against: tally.raw_ham.into(),
            saturated: tally.is_saturated(),
            seen,
            anonymous_networks,
            ..Reason::new(kind, verdict, rule?)
        };
        let journal = self.journal.filter(|_| *tally != Tally::default());
        match journal.map(|journal| details(journal, known.hash, tally)) {
            // The tally mistook an absent key for a signature it holds: the journal knows nothing of it.
            Some(Ok(None))
                if !self.memory.has_lost_records && !matches!(reason.rule, Rule::Seen | Rule::Overfull) =>
            {
                None
            }
            Some(Ok(Some(details))) => {
                reason.reporters = Some(details.reporters);
                reason.generation = details.newest;
                Some(reason)
            }
            _ => Some(reason),
        }
    }

    /// How many shingles of a text are known, and how many make a replica.
    fn shingles(&self, signature: SignatureRef<'_>) -> Shingles {
        let near = &self.memory.near;
        Shingles {
            known: near.matched(&shingle_hashes(signature, &self.memory.sip)),
            needed: near.threshold(signature.kind(), self.config),
        }
    }

    fn near_answer(&self, signature: SignatureRef<'_>) -> Answer {
        let shingles = self.shingles(signature);
        let verdict = match shingles.known >= shingles.needed {
            true if self.memory.doubts.is_in_doubt(FilterName::Near) => Verdict::NoOpinion,
            true => Verdict::Spam,
            false => Verdict::Unknown,
        };
        Answer { verdict, weight: shingles.known as u16, ..Answer::default() }
    }

    fn near_reason(&self, signature: SignatureRef<'_>) -> Option<Reason> {
        let shingles = self.shingles(signature);
        let (verdict, rule) = match shingles.known {
            // Half a replica decides as well, beside a link or a part.
            _ if shingles.are_half() && self.memory.doubts.is_in_doubt(FilterName::Near) => {
                (Verdict::NoOpinion, Rule::Overfull)
            }
            known if known >= shingles.needed => (Verdict::Spam, Rule::Replica),
            RESEMBLES_MIN.. => (Verdict::Unknown, Rule::Resembles),
            _ => return None,
        };
        Some(Reason {
            shingles: Some(shingles.known),
            shingles_needed: Some(shingles.needed),
            ..Reason::new(signature.kind(), verdict, rule)
        })
    }
}

/// Whether many got a message.
enum Bulk {
    No,
    Yes,
    /// Only a filter says so that lies more often than it promises.
    InDoubt,
}

/// What the journal knows beside the numbers of a tally.
struct Details {
    /// Reporters with an opinion.
    reporters: u32,
    /// The newest generation of one.
    newest: Option<u64>,
}

/// The shingles of a text that are known, and how many make a replica.
#[derive(Clone, Copy)]
struct Shingles {
    known: u32,
    needed: u32,
}

impl Shingles {
    /// Whether they are half of those that make a replica.
    fn are_half(self) -> bool {
        2 * self.known >= self.needed
    }
}

/// The details of a tally; `None` where nobody ever said anything.
fn details(
    journal: &Journal,
    hash: Hash128,
    tally: &Tally,
) -> Result<Option<Details>, crate::journal::JournalError> {
    let mut spoken = Vec::new();
    let mut newest = None;
    let mut weight = 0;
    let mut is_any = false;
    for generation in journal.live() {
        for KeyRow { reporter, row, .. } in journal.rows_of(generation, hash, DETAIL_ROWS_MAX)? {
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
    Ok(is_any.then_some(Details { reporters: spoken.len() as u32, newest }))
}

/// Whether parts and links may make a message spam: its text is half a replica. Who asks about pieces alone is told of
/// them.
fn are_pieces_believed(asked: &[Asked<'_>], reasons: &[Reason]) -> bool {
    let is_half_a_replica = |reason: &Reason| {
        let shingles = reason.shingles.zip(reason.shingles_needed);
        let are_half = shingles.is_some_and(|(known, needed)| Shingles { known, needed }.are_half());
        reason.rule == Rule::Resembles && are_half
    };
    let are_all_pieces = asked.iter().all(|asked| asked.signature.kind().class().is_piece());
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

/// The verdict of a message: classes that prove more decide first.
fn verdict_of(reasons: &[Reason], class: &impl Fn(&Reason) -> Class, believed: Believed) -> Verdict {
    for decides in [Class::Whole, Class::AllParts, Class::Text, Class::Part, Class::Shared] {
        let any = |is: &dyn Fn(&Reason) -> bool| reasons.iter().any(|one| class(one) == decides && is(one));
        let is_good = any(&|one| {
            let is_believed = believed.borrowed || decides != Class::Whole || one.kind.proof() > Proof::None;
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
