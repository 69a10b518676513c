//! Shares of own reporters: what they have added, and whether there is more for them. The rule is in `share`.

use std::collections::HashMap;

use super::{Problem, Writer};
use crate::answers::Write;
use crate::error::WriteError;
use crate::journal::Added;
use crate::record::Verb;
use crate::reporter::{Reporter, ReporterId};
use crate::share::{self, Share};
use crate::signature::Case;
use crate::stage::{Stage, Staged};

impl Writer {
    /// Refuses what is beyond the share of whom it comes from.
    pub(super) fn check_share(
        &self,
        stage: &Stage<'_>,
        reporter: &Reporter,
        cases: &[Case],
        known: &HashMap<ReporterId, Reporter>,
    ) -> Result<(), WriteError> {
        let config = &self.shared.config;
        let own = (reporter.id, Share::Signatures);
        let added = self.shares.added(self.horizon.before, own);
        let most = share::most(config, reporter);
        if added + stage.new_signatures(cases, most.saturating_sub(added)) > most {
            return Err(WriteError::Share { reporter: reporter.name.clone(), added, most });
        }
        if share::is_vouched(reporter) {
            return Ok(());
        }
        let added = self.added_by_others(known);
        let most = share::of_others(config);
        if added + stage.new_signatures(cases, most.saturating_sub(added)) > most {
            return Err(WriteError::Reserved { added, most });
        }
        Ok(())
    }

    /// What all whom nobody vouches for added to the tally in the present generation.
    pub(super) fn added_by_others(&self, known: &HashMap<ReporterId, Reporter>) -> u64 {
        self.by_others(Share::Signatures, self.calendar.generation(), known)
    }

    /// What all whom nobody vouches for have added of something since a generation began.
    fn by_others(&self, what: Share, since: u64, known: &HashMap<ReporterId, Reporter>) -> u64 {
        self.shares.added_by(since, |(who, of)| {
            let is_other = known.get(who).is_none_or(|who| !share::is_vouched(who));
            *of == what && *who != share::WEIGHTLESS && is_other
        })
    }

    /// Refuses a write whose reporter has named as many keys as it may, new ones or not.
    pub(super) fn check_named(&self, reporter: &Reporter, write: &Write) -> Result<(), WriteError> {
        let holder = (holder_of(write.verb, reporter), Share::Named);
        let named = self.shares.added(self.calendar.generation(), holder);
        let most = share::named_max(&self.shared.config, reporter);
        if named.saturating_add(share::named(&write.cases)) > most {
            return Err(WriteError::Named { reporter: reporter.name.clone(), named, most });
        }
        Ok(())
    }

    /// Notes the keys that a write named.
    pub(super) fn note_named(&mut self, stage: &mut Stage<'_>, verb: Verb, reporter: &Reporter, named: u64) {
        if !share::is_vouched(reporter) {
            self.note_share(stage, holder_of(verb, reporter), Share::Named, named);
        }
    }

    /// How many texts a reporter may add whose shingles count; `None` where it has no limit.
    pub(super) fn text_room(
        &self,
        reporter: &Reporter,
        known: &HashMap<ReporterId, Reporter>,
    ) -> Option<u64> {
        if share::is_vouched(reporter) {
            return None;
        }
        let config = &self.shared.config;
        let since = self.horizon.before;
        let own = self.shares.added(since, (reporter.id, Share::Texts));
        let of_others = self.by_others(Share::Texts, since, known);
        let own_room = share::texts_max(config).saturating_sub(own);
        Some(own_room.min(share::texts_of_others(config).saturating_sub(of_others)))
    }

    /// Notes the texts whose shingles a write made count. Says once when there is no more room for those of a reporter.
    pub(super) fn note_texts(&mut self, stage: &mut Stage<'_>, reporter: &Reporter) {
        let added = std::mem::take(&mut stage.texts_added);
        if added > 0 && stage.text_room == Some(0) {
            tracing::warn!(
                reporter = reporter.name,
                "it has had its share of `near_capacity`: until that expires, or the operator vouches for it, the \
                 texts it reports make no other text a replica"
            );
        }
        self.note_share(stage, reporter.id, Share::Texts, added);
    }

    /// Notes what somebody added, in memory and in the commit that adds it: later writes of the batch must know.
    /// Where the commit fails, memory is wrong until the journal is opened again; no write is taken before that.
    pub(super) fn note_share(&mut self, stage: &mut Stage<'_>, who: ReporterId, what: Share, more: u64) {
        if more > 0 {
            let generation = self.calendar.generation();
            let number = self.shares.add(generation, (who, what), more);
            stage.batch.share(&Added { what, generation, who, number });
        }
    }

    /// Stages opinions that weigh nothing: they are kept, and take no room in the tally.
    pub(super) fn stage_weightless(
        &mut self,
        stage: &mut Stage<'_>,
        write: Write,
        reporter: &Reporter,
        known: &HashMap<ReporterId, Reporter>,
    ) -> Result<(Staged, Verb), Problem> {
        let all = (share::WEIGHTLESS, Share::Signatures);
        let added = self.shares.added(self.horizon.before, all);
        let most = share::most(&self.shared.config, reporter);
        let more = stage.unspoken_of(&write.cases);
        if added + more > most {
            return Err(WriteError::Share { reporter: reporter.name.clone(), added, most }.into());
        }
        let named = share::named(&write.cases);
        let staged = stage.write(write.verb, reporter, write.cases, known)?;
        self.note_share(stage, share::WEIGHTLESS, Share::Signatures, more);
        self.note_named(stage, write.verb, reporter, named);
        Ok((staged, write.verb))
    }
}

/// Whose share what somebody names is part of.
fn holder_of(verb: Verb, reporter: &Reporter) -> ReporterId {
    let takes_room = share::takes_room(verb, reporter.id, reporter.weight);
    if takes_room { reporter.id } else { share::WEIGHTLESS }
}
