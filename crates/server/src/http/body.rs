//! Bodies: their content type, and all of their bytes within limits of size and time.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE};
use hyper::{HeaderMap, Request, StatusCode};
use seenit_filter::readable;

use super::answer::{BINARY, JSON};
use super::caller::Caller;
use super::problem::Problem;
use crate::backend::Backend;
use crate::connections::Doing;
use crate::memory::Held;

/// What a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Media {
    Message,
    Json,
    Binary,
}

const MESSAGE: &str = "message/rfc822";

impl Media {
    /// What the headers say it is.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Self, Problem> {
        let refused = |why: String| Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media-type", why);
        if let Some(encoding) = headers.get(CONTENT_ENCODING) {
            return Err(refused(format!("bodies with Content-Encoding {encoding:?} are not read")));
        }
        let text = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let name = text.split(';').next().unwrap_or_default().trim();
        match name {
            _ if name.eq_ignore_ascii_case(JSON) => Ok(Media::Json),
            _ if name.eq_ignore_ascii_case(BINARY) => Ok(Media::Binary),
            _ if name.eq_ignore_ascii_case(MESSAGE) => Ok(Media::Message),
            _ => Err(refused(format!("{text:?} is none of {MESSAGE}, {JSON}, {BINARY}"))),
        }
    }
}

/// The body of a verb.
pub(crate) async fn read(
    backend: &Backend,
    caller: &Caller,
    request: Request<Incoming>,
) -> Result<(Media, Held), Problem> {
    let media = Media::of(request.headers())?;
    let bytes_max = match media {
        Media::Message => backend.live().config.http.message_bytes_max,
        Media::Json | Media::Binary => backend.live().config.http.body_bytes_max,
    };
    Ok((media, within(backend, caller, request.into_body(), bytes_max).await?))
}

/// The body of a request that only takes JSON.
pub(crate) async fn read_json(
    backend: &Backend,
    caller: &Caller,
    request: Request<Incoming>,
) -> Result<Held, Problem> {
    match Media::of(request.headers())? {
        Media::Json => {
            let bytes_max = backend.live().config.http.body_bytes_max;
            within(backend, caller, request.into_body(), bytes_max).await
        }
        _ => Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "media-type",
            format!("only {JSON} is read here"),
        )),
    }
}

async fn within(backend: &Backend, caller: &Caller, body: Incoming, bytes_max: u64) -> Result<Held, Problem> {
    let secs = backend.config.http.body_secs;
    let late = |_| {
        let why = format!("the body did not arrive within {secs} s");
        Problem::new(StatusCode::REQUEST_TIMEOUT, "late-body", why)
    };
    // A timer is only set where the body is not there yet.
    caller.guest().set(Doing::Sending);
    let collected = collect(backend, caller, body, bytes_max);
    let read = tokio::time::timeout(Duration::from_secs(secs), collected).await;
    caller.guest().set(Doing::Working);
    read.map_err(late)?
}

async fn collect(
    backend: &Backend,
    caller: &Caller,
    mut body: Incoming,
    bytes_max: u64,
) -> Result<Held, Problem> {
    let too_large = || {
        let why = format!("the body has more than {}", readable::bytes(bytes_max));
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body-too-large", why)
    };
    if body.size_hint().lower() > bytes_max {
        return Err(too_large());
    }
    let mut first = Bytes::new();
    // It grows as bytes arrive: what a head says of its length is only said.
    let mut all = BytesMut::new();
    let mut hold = backend.memory.hold(caller.holder(), caller.guest());
    while let Some(frame) = body.frame().await {
        let cut_off = |error: hyper::Error| Problem::bad_body(format!("the body cannot be read: {error}"));
        let Ok(data) = frame.map_err(cut_off)?.into_data() else {
            continue;
        };
        let bytes = first.len() + all.len() + data.len();
        if bytes as u64 > bytes_max {
            return Err(too_large());
        }
        hold.make_room(bytes).await?;
        // Most bodies come in one piece, which is used as it is.
        if first.is_empty() && all.is_empty() {
            first = data;
            continue;
        }
        if all.is_empty() {
            all.extend_from_slice(&std::mem::take(&mut first));
        }
        all.extend_from_slice(&data);
    }
    Ok(Held::body(if all.is_empty() { first } else { all.freeze() }, hold))
}
