//! Bits picked out of words and laid back by the instructions PEXT and PDEP: one for a word, where tables take eleven
//! lookups.
#![allow(unsafe_code)]

use std::arch::is_x86_feature_detected;
use std::arch::x86_64::{_pdep_u64, _pext_u64};

use super::gather::{Picker, Work};

/// The proof that the processor has the instructions: [`detect`](Self::detect) asked it, and nothing else makes one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instructions(());

impl Instructions {
    /// The instructions, if the processor has them and they are fast. Early processors of AMD (only AMD has SSE4a)
    /// take hundreds of cycles; VAES came with the first that do not.
    pub(super) fn detect() -> Option<Self> {
        let there = is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        let fast = !is_x86_feature_detected!("sse4a") || is_x86_feature_detected!("vaes");
        (there && fast).then_some(Instructions(()))
    }

    /// Does all of `work` with the instructions.
    pub(super) fn run<W: Work>(self, work: W) -> W::Output {
        // SAFETY: `self` proves that the processor has all features that `run_with` needs.
        unsafe { run_with(self, work) }
    }
}

/// What `work` inlines is compiled for these features as well, so that there is no call for each word.
#[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
fn run_with<W: Work>(picker: Instructions, work: W) -> W::Output {
    work.run(picker)
}

impl Picker for Instructions {
    const FAST: bool = true;

    #[inline(always)]
    fn gather(self, word: u64, mask: u64) -> u64 {
        // SAFETY: `self` proves that the processor has BMI2.
        unsafe { _pext_u64(word, mask) }
    }

    #[inline(always)]
    fn scatter(self, bits: u64, mask: u64) -> u64 {
        // SAFETY: `self` proves that the processor has BMI2.
        unsafe { _pdep_u64(bits, mask) }
    }
}
