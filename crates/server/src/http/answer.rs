//! Answers: what is sent back, and how answers of batches are written.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use seenit_ledger::verdict::{ANSWER_BYTES, Answer, Verdict};
use serde::Serialize;

use super::caller::Caller;
use super::counting::Counted;
use crate::memory::{Held, Memory};

/// A response with all of its body.
pub(crate) type Answered = Response<Bytes>;

/// The same as it is sent: its bytes count as held until the peer has taken them.
pub(crate) type Sent = Response<Full<Held>>;

/// Marks an answer whose bytes all connections share.
#[derive(Clone, Copy)]
struct Shared;

/// The content type of binary bodies.
pub(crate) const BINARY: &str = "application/vnd.seenit.v1";

/// The content type of JSON.
pub(crate) const JSON: &str = "application/json";

/// A body of a content type, with status 200. Answers change with every report: nobody may keep them.
pub(crate) fn of(content_type: &'static str, body: impl Into<Bytes>) -> Answered {
    let mut response = Response::new(body.into());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// A document that all connections share: however many ask for it, there is one.
pub(crate) fn shared(content_type: &'static str, body: impl Into<Bytes>) -> Answered {
    let mut response = of(content_type, body);
    response.extensions_mut().insert(Shared);
    response
}

/// An answer as it is sent: it takes room until the peer has read it.
pub(crate) fn held(memory: &Memory, caller: &Caller, answered: Answered) -> Sent {
    if answered.extensions().get::<Shared>().is_some() {
        return free(answered);
    }
    answered.map(|bytes| Full::new(memory.hold_answer(caller.holder(), caller.guest(), bytes)))
}

/// An answer as it is sent that takes no room: a few bytes, or shared ones.
pub(crate) fn free(answered: Answered) -> Sent {
    answered.map(|bytes| Full::new(Held::free(bytes)))
}

/// A value as JSON. It may have to wait for its peer: nothing beyond its bytes is kept.
pub(crate) fn json(value: &impl Serialize) -> Answered {
    let mut body = serde_json::to_vec(value).expect("our own types have string keys and plain values");
    body.shrink_to_fit();
    of(JSON, body)
}

/// The same with another status.
pub(crate) fn json_with(status: StatusCode, value: &impl Serialize) -> Answered {
    let mut response = json(value);
    *response.status_mut() = status;
    response
}

/// The header of a binary answer that says whether recipients were counted, where that was asked for.
const COUNTED: HeaderName = HeaderName::from_static("seenit-counted");

/// Fixed-width answers, one after the other.
pub(crate) fn binary_answers(answers: &[Answer], counted: Option<&Counted>) -> Answered {
    let mut body = Vec::with_capacity(answers.len() * ANSWER_BYTES);
    answers.iter().for_each(|answer| body.extend_from_slice(&answer.to_bytes()));
    let mut response = of(BINARY, body);
    if let Some(value) = counted.and_then(|counted| HeaderValue::try_from(counted.header()).ok()) {
        response.headers_mut().insert(COUNTED, value);
    }
    response
}

/// `{"answers":[...]}`. What is zero is left out. `seen` is as long as the answers, or empty.
pub(crate) fn json_answers(answers: &[Answer], seen: &[u64], counted: Option<&Counted>) -> Answered {
    let mut body = write_answers(answers, seen);
    if let Some(counted) = counted {
        // An object within an object that ends: its fields go on where the other's end.
        let fields = serde_json::to_vec(counted).expect("our own types have string keys and plain values");
        body.pop();
        body.push(b',');
        body.extend_from_slice(&fields[1..]);
    }
    body.shrink_to_fit();
    of(JSON, body)
}

/// Room for an answer with a few numbers; most have none.
const ANSWER_CHARS: usize = 32;

fn write_answers(answers: &[Answer], seen: &[u64]) -> Vec<u8> {
    let mut body = Vec::with_capacity(16 + answers.len() * ANSWER_CHARS);
    body.extend_from_slice(b"{\"answers\":[");
    for (index, answer) in answers.iter().enumerate() {
        if index > 0 {
            body.push(b',');
        }
        write_answer(&mut body, answer, seen.get(index).copied().unwrap_or(0));
    }
    body.extend_from_slice(b"]}");
    body
}

fn write_answer(body: &mut Vec<u8>, answer: &Answer, seen: u64) {
    // Nearly all mail is a stranger: one copy of a constant.
    if seen == 0 && *answer == Answer::default() {
        return body.extend_from_slice(b"{\"verdict\":\"unknown\"}");
    }
    body.extend_from_slice(match answer.verdict {
        Verdict::Spam => b"{\"verdict\":\"spam\"".as_slice(),
        Verdict::Bulk => b"{\"verdict\":\"bulk\"",
        Verdict::Ham => b"{\"verdict\":\"ham\"",
        Verdict::Unknown => b"{\"verdict\":\"unknown\"",
        Verdict::NoOpinion => b"{\"verdict\":\"no opinion\"",
    });
    write_number(body, b",\"weight\":", answer.weight);
    write_number(body, b",\"against\":", answer.against);
    write_number(body, b",\"raw\":", answer.raw);
    write_number(body, b",\"raw_against\":", answer.raw_against);
    write_number(body, b",\"seen\":", seen);
    write_mark(body, b",\"protected\":true", answer.protected);
    write_mark(body, b",\"good\":true", answer.good);
    write_mark(body, b",\"many\":true", answer.many);
    write_mark(body, b",\"saturated\":true", answer.saturated);
    body.push(b'}');
}

fn write_number(body: &mut Vec<u8>, key: &[u8], number: impl itoa::Integer + Default + PartialEq) {
    if number != Default::default() {
        body.extend_from_slice(key);
        body.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    }
}

fn write_mark(body: &mut Vec<u8>, text: &[u8], is_set: bool) {
    if is_set {
        body.extend_from_slice(text);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn answers_are_written_as_documented() {
        let spam = Answer { verdict: Verdict::Spam, weight: 10, raw: 1, ..Answer::default() };
        let no_opinion = Answer { verdict: Verdict::NoOpinion, ..Answer::default() };
        let text =
            String::from_utf8(write_answers(&[spam, Answer::default(), no_opinion], &[0, 2])).expect("text");
        assert_eq!(
            text,
            concat!(
                r#"{"answers":[{"verdict":"spam","weight":10,"raw":1},"#,
                r#"{"verdict":"unknown","seen":2},{"verdict":"no opinion"}]}"#
            )
        );
        assert_eq!(write_answers(&[], &[]), b"{\"answers\":[]}");
    }

    fn answer() -> impl Strategy<Value = Answer> {
        let verdict = prop::sample::select(vec![
            Verdict::Spam,
            Verdict::Bulk,
            Verdict::Ham,
            Verdict::Unknown,
            Verdict::NoOpinion,
        ]);
        (verdict, any::<[u16; 4]>(), any::<[bool; 4]>()).prop_map(|(verdict, numbers, marks)| {
            let [weight, against, raw, raw_against] = numbers;
            let [protected, good, many, saturated] = marks;
            Answer { verdict, weight, against, raw, raw_against, protected, good, many, saturated }
        })
    }

    proptest! {
        #[test]
        fn a_json_parser_reads_what_is_written(answers in prop::collection::vec(answer(), 0..20)) {
            let parsed: Value = serde_json::from_slice(&write_answers(&answers, &[])).expect("JSON");
            let list = parsed["answers"].as_array().expect("a list");
            prop_assert_eq!(list.len(), answers.len());
            for (value, answer) in list.iter().zip(&answers) {
                let mut expected = json!({
                    "verdict": answer.verdict.as_str(), "weight": answer.weight, "against": answer.against,
                    "raw": answer.raw, "raw_against": answer.raw_against, "protected": answer.protected,
                    "good": answer.good, "many": answer.many, "saturated": answer.saturated,
                });
                let object = expected.as_object_mut().expect("an object");
                object.retain(|_, value| *value != json!(0) && *value != json!(false));
                prop_assert_eq!(value, &expected);
            }
        }
    }
}
