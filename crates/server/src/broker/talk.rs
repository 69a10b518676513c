//! What is said in passing and kept nowhere: heartbeats, questions, answers.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_nats::connection::State;
use async_nats::{Message, Subject};
use bytes::Bytes;
use futures_util::StreamExt;
use seenit_sites::key::SiteKey;
use tokio::task::JoinSet;

use super::names::{INBOXES, inbox_prefix};
use super::recent::Recent;
use super::{Arrived, ReplyTo, Shared};

/// Questions that can still be answered.
const REPLIES_MAX: usize = 4096;

/// How long the connection may take to accept what is said.
const SAY_SECS: u64 = 1;

/// What is to be said.
#[derive(Debug)]
pub(super) enum Said {
    Heartbeat(Bytes),
    Ask { to: SiteKey, bytes: Bytes },
    Answer { to: ReplyTo, bytes: Bytes },
}

/// Who says it.
pub(super) struct Talk {
    shared: Shared,
    replies: Arc<Mutex<Replies>>,
}

/// Starts listening.
pub(super) fn start(tasks: &mut JoinSet<()>, shared: &Shared) -> Talk {
    let recent = Arc::new(Recent::new());
    let replies = Arc::new(Mutex::new(Replies::default()));
    let heard = [
        (shared.names.heartbeat(None), None),
        (shared.names.ask(Some(&shared.site)), Some(replies.clone())),
        (answers(&shared.site), None),
    ];
    for (subject, replies) in heard {
        tasks.spawn(listen(shared.clone(), subject, recent.clone(), replies));
    }
    let arrived = shared.arrived.clone();
    tasks.spawn(async move { while arrived.send(recent.next().await).await.is_ok() {} });
    Talk { shared: shared.clone(), replies }
}

/// Where answers to a site's questions arrive.
fn answers(site: &SiteKey) -> String {
    format!("{}.answers", inbox_prefix(&site.to_string()))
}

async fn listen(
    shared: Shared,
    subject: String,
    recent: Arc<Recent<Arrived>>,
    replies: Option<Arc<Mutex<Replies>>>,
) {
    let Ok(mut heard) = shared.client.subscribe(subject).await else { return };
    while let Some(message) = heard.next().await {
        let Message { payload: bytes, reply, .. } = message;
        let reply = replies.as_ref().zip(reply).and_then(|(replies, inbox)| locked(replies).add(inbox));
        let length = bytes.len();
        let gone = recent.push(length, Arrived::Bytes { bytes, reply, place: None });
        shared.dropped.heard.fetch_add(gone, Ordering::Relaxed);
    }
}

impl Talk {
    /// Says it now or not at all: what is said in passing is worth nothing later.
    pub(super) async fn say(&self, said: Said) {
        let shared = &self.shared;
        let is_said = match said {
            _ if shared.client.connection_state() != State::Connected => false,
            Said::Heartbeat(bytes) => {
                self.send(shared.names.heartbeat(Some(&shared.site)), None, bytes).await
            }
            Said::Ask { to, bytes } => {
                self.send(shared.names.ask(Some(&to)), Some(answers(&shared.site)), bytes).await
            }
            Said::Answer { to, bytes } => {
                let inbox = locked(&self.replies).find(to);
                match inbox {
                    Some(inbox) => self.send(inbox.to_string(), None, bytes).await,
                    None => false,
                }
            }
        };
        if !is_said {
            shared.dropped.said.fetch_add(1, Ordering::Relaxed);
        }
    }

    async fn send(&self, subject: String, reply: Option<String>, bytes: Bytes) -> bool {
        let client = &self.shared.client;
        let sent = async {
            match reply {
                Some(reply) => client.publish_with_reply(subject, reply, bytes).await.is_ok(),
                None => client.publish(subject, bytes).await.is_ok(),
            }
        };
        tokio::time::timeout(Duration::from_secs(SAY_SECS), sent).await.unwrap_or(false)
    }
}

/// Where questions want to be answered, by a number each.
#[derive(Debug, Default)]
struct Replies {
    first: u64,
    inboxes: VecDeque<Subject>,
}

impl Replies {
    /// Nothing but inboxes is answered to: else a question could have this site speak where only it may speak.
    fn add(&mut self, inbox: Subject) -> Option<ReplyTo> {
        let is_plain = inbox.starts_with(INBOXES) && !inbox.contains(['*', '>', ' ']);
        if !is_plain {
            return None;
        }
        self.inboxes.push_back(inbox);
        if self.inboxes.len() > REPLIES_MAX {
            self.inboxes.pop_front();
            self.first += 1;
        }
        Some(ReplyTo(self.first + self.inboxes.len() as u64 - 1))
    }

    fn find(&self, reply: ReplyTo) -> Option<Subject> {
        let at = usize::try_from(reply.0.checked_sub(self.first)?).ok()?;
        self.inboxes.get(at).cloned()
    }
}

/// Nothing panics while it holds the lock.
fn locked(replies: &Mutex<Replies>) -> std::sync::MutexGuard<'_, Replies> {
    replies.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_inboxes_are_answered_and_old_ones_are_forgotten() {
        let mut replies = Replies::default();
        for trap in ["seenit.x.records.y", "$JS.API.STREAM.DELETE.x", "_INBOX.>", "_INBOX.a b"] {
            assert_eq!(replies.add(trap.into()), None, "{trap}");
        }
        let first = replies.add("_INBOX.first".into()).expect("an inbox");
        assert_eq!(replies.find(first).as_deref(), Some("_INBOX.first"));
        let last = (0..REPLIES_MAX).filter_map(|_| replies.add("_INBOX.later".into())).last();
        assert_eq!(replies.find(first), None);
        assert_eq!(last.and_then(|last| replies.find(last)).as_deref(), Some("_INBOX.later"));
        assert_eq!(replies.find(ReplyTo(u64::MAX)), None);
    }
}
