//! The protocol of Razor2: lines of `key=value` pairs over TCP, one request at a time, and the server speaks first.
//!
//! A [`Decoder`] is fed with what arrives and hands out [`Request`]s: one query, a batch of them, or a reported mail.
//! Whatever shape a request has, its answer has too: [`write_line`] answers a query and a mail, [`write_batch`] a
//! batch. The query [`Command::Client`] gets no answer at all, and neither does [`Command::Quit`].
//!
//! The client takes whatever one `read` of [`ANSWER_BYTES_MAX`] bytes gives for the whole answer. So every answer must
//! be written with one `write`, without Nagle's delay.

mod answer;
mod ask;
mod auth;
mod command;
mod decoder;
mod sis;

pub use answer::{
    ANSWER_BYTES_MAX, AnswerTooLong, ErrorCode, Listing, RazorAnswer, ServerSettings, write_batch,
    write_greeting, write_line, write_servers, write_state,
};
pub use ask::{Ask, Greeting, Program, RazorResponse};
pub use auth::{proves, response};
pub use command::{Command, Malformed, Query, Servers, Signature, Subject, Upload};
pub use decoder::{
    BATCH_BYTES_MAX, BATCH_QUERIES_MAX, DecodeError, Decoder, LINE_BYTES_MAX, MESSAGE_BYTES_MAX,
    MESSAGE_KIB_MAX, QueryBatch, Request,
};
