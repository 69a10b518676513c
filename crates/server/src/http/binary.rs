//! Binary bodies: `application/vnd.seenit.v1`.

use seenit_ledger::signature::{Case, HEAD_BYTES, SIGNATURES_MAX as CASE_SIGNATURES_MAX, SignatureRef};

use super::problem::Problem;
use crate::limits::{CASES_MAX, SIGNATURES_MAX};

/// The fewest bytes of a signature.
const SIGNATURE_BYTES_MIN: usize = HEAD_BYTES + 8;

/// Signatures one after the other, where they lie.
pub(crate) fn signatures(body: &[u8]) -> Result<Vec<SignatureRef<'_>>, Problem> {
    let mut signatures = Vec::with_capacity((body.len() / SIGNATURE_BYTES_MIN).min(SIGNATURES_MAX));
    let mut rest = body;
    while !rest.is_empty() {
        if signatures.len() == SIGNATURES_MAX {
            return Err(Problem::too_many_signatures());
        }
        let (signature, after) = SignatureRef::split(rest).map_err(|error| at(body, rest, error))?;
        signatures.push(signature);
        rest = after;
    }
    Ok(signatures)
}

/// Cases one after the other: how many signatures, in two bytes, lowest first, then they.
pub(crate) fn cases(body: &[u8]) -> Result<Vec<Case>, Problem> {
    let mut cases = Vec::new();
    let mut signatures = 0;
    let mut rest = body;
    while !rest.is_empty() {
        if cases.len() == CASES_MAX {
            return Err(Problem::too_many_cases());
        }
        let (case, after) = split_case(body, rest)?;
        signatures += case.len();
        if signatures > SIGNATURES_MAX {
            return Err(Problem::too_many_signatures());
        }
        cases.push(case);
        rest = after;
    }
    Ok(cases)
}

fn split_case<'a>(body: &'a [u8], bytes: &'a [u8]) -> Result<(Case, &'a [u8]), Problem> {
    let Some((count, mut rest)) = bytes.split_first_chunk::<2>() else {
        return Err(Problem::bad_body(format!("a case is cut off at byte {}", body.len() - bytes.len())));
    };
    let count = usize::from(u16::from_le_bytes(*count));
    if count > CASE_SIGNATURES_MAX {
        return Err(seenit_ledger::error::SignatureError::TooMany { most: CASE_SIGNATURES_MAX }.into());
    }
    let mut case = Case::new();
    for _ in 0..count {
        let (signature, after) = SignatureRef::split(rest).map_err(|error| at(body, rest, error))?;
        case.add(signature)?;
        rest = after;
    }
    Ok((case, rest))
}

fn at(body: &[u8], rest: &[u8], error: impl std::fmt::Display) -> Problem {
    Problem::bad_body(format!("at byte {}: {error}", body.len() - rest.len()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use seenit_signature::Kind;

    use super::*;

    fn case() -> impl Strategy<Value = Case> {
        let signature = (prop::sample::select(Kind::ALL.to_vec()), any::<u8>());
        prop::collection::vec(signature, 0..9).prop_map(|signatures| {
            let mut case = Case::new();
            for (kind, byte) in signatures {
                case.push(kind, &vec![byte; kind.digest_bytes()]).expect("a digest of its length");
            }
            case
        })
    }

    fn encode(cases: &[Case]) -> Vec<u8> {
        let one = |case: &Case| [(case.len() as u16).to_le_bytes().as_slice(), case.bytes()].concat();
        cases.iter().flat_map(one).collect()
    }

    proptest! {
        #[test]
        fn cases_and_signatures_are_read_as_they_were_written(written in prop::collection::vec(case(), 0..5)) {
            prop_assert_eq!(cases(&encode(&written)).expect("cases"), written.clone());
            let flat: Vec<u8> = written.iter().flat_map(|case| case.bytes().to_vec()).collect();
            let read = signatures(&flat).expect("signatures");
            prop_assert_eq!(read.len(), written.iter().map(Case::len).sum::<usize>());
            prop_assert_eq!(read.iter().flat_map(|one| one.bytes().to_vec()).collect::<Vec<_>>(), flat);
        }

        #[test]
        fn no_bytes_are_too_odd_to_be_refused(bytes in prop::collection::vec(0u8..12, 0..400)) {
            let _ = signatures(&bytes);
            let _ = cases(&bytes);
        }

        #[test]
        fn every_cut_is_noticed(case in case(), cut in 1usize..8) {
            prop_assume!(!case.is_empty());
            let whole = encode(&[case]);
            prop_assert!(cases(&whole[..whole.len() - cut]).is_err());
        }
    }

    #[test]
    fn errors_say_where() {
        let why = |problem: Problem| format!("{problem:?}");
        assert!(
            why(signatures(&[7, 8, 0, 1, 1, 1, 1, 1, 1, 1, 1, 99, 0, 0]).expect_err("no kind 99"))
                .contains("byte 11")
        );
        assert!(why(cases(&[0]).expect_err("cut off")).contains("byte 0"));
        assert!(why(cases(&[1, 2]).expect_err("too many")).contains("at most 256"));
        let mut full = 256u16.to_le_bytes().to_vec();
        for number in 0..256u64 {
            full.extend([7, 8, 0]);
            full.extend(number.to_le_bytes());
        }
        let refused = cases(&full.repeat(SIGNATURES_MAX / 256 + 1)).expect_err("too many in all");
        assert_eq!(refused.status, hyper::StatusCode::PAYLOAD_TOO_LARGE);
        cases(&full.repeat(SIGNATURES_MAX / 256)).expect("not too many");
        let many = [7, 8, 0, 1, 1, 1, 1, 1, 1, 1, 1].repeat(SIGNATURES_MAX + 1);
        assert!(why(signatures(&many).expect_err("too many")).contains("at most 10000"));
        assert!(why(cases(&[0; 2 * CASES_MAX + 2]).expect_err("too many")).contains("at most 1000"));
    }
}
