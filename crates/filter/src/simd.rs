//! Which instruction set the fast paths may use: found out once, carried as proof.
//!
//! Every fast path has a scalar twin with identical results. A [`Simd`] value can only be had from the
//! constructors here, each of which has asked the processor, so holding one is the proof that the kernels
//! behind it may run. Tests and races force the lower ones to compare the twins.

/// The instruction set the kernels of one filter or one hash key use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Simd(pub(crate) Level);

/// The levels, private to the crate so that nobody can claim one the processor lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Scalar,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Simd {
    /// Plain Rust, on any processor.
    pub const SCALAR: Simd = Simd(Level::Scalar);

    /// The best level this processor has.
    pub fn detect() -> Simd {
        Simd::avx512().or_else(Simd::avx2).unwrap_or(Simd::SCALAR)
    }

    /// 256-bit kernels, if the processor has AVX2.
    pub fn avx2() -> Option<Simd> {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            return Some(Simd(Level::Avx2));
        }
        None
    }

    /// 512-bit kernels, if the processor has AVX-512F and AVX2.
    pub fn avx512() -> Option<Simd> {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx512f") && std::arch::is_x86_feature_detected!("avx2") {
            return Some(Simd(Level::Avx512));
        }
        None
    }

    /// Every level this processor has, the scalar one first.
    pub fn all() -> Vec<Simd> {
        [Some(Simd::SCALAR), Simd::avx2(), Simd::avx512()].into_iter().flatten().collect()
    }

    /// `scalar`, `avx2` or `avx512`.
    pub fn name(self) -> &'static str {
        match self.0 {
            Level::Scalar => "scalar",
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => "avx512",
        }
    }
}
