//! A key pair with which the test API server signs service account tokens.
//!
//! Invariant: made afresh for every run and kept in its scratch folder only.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};

/// What stands before a P-256 point in a DER `SubjectPublicKeyInfo` (RFC 5480): the algorithm and a bit string's head.
const PUBLIC_KEY_HEAD: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce,
    0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// Paths of a private and a public key in PEM.
pub struct KeyFiles {
    /// PKCS #8.
    pub private: PathBuf,
    /// `SubjectPublicKeyInfo`.
    pub public: PathBuf,
}

/// Makes an ECDSA P-256 pair and writes `sa.key` and `sa.pub` to `folder`.
pub fn generate(folder: &Path) -> Result<KeyFiles> {
    let (algorithm, random) = (&ECDSA_P256_SHA256_ASN1_SIGNING, SystemRandom::new());
    let private = EcdsaKeyPair::generate_pkcs8(algorithm, &random).map_err(|_| anyhow!("cannot generate a key"))?;
    let pair = EcdsaKeyPair::from_pkcs8(algorithm, private.as_ref(), &random);
    let pair = pair.map_err(|error| anyhow!("cannot read back the key: {error}"))?;
    let public = [&PUBLIC_KEY_HEAD, pair.public_key().as_ref()].concat();
    let files = KeyFiles { private: folder.join("sa.key"), public: folder.join("sa.pub") };
    for (path, kind, der) in [(&files.private, "PRIVATE", private.as_ref()), (&files.public, "PUBLIC", &public)] {
        fs::write(path, pem(kind, der)).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(files)
}

fn pem(kind: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let mut out = format!("-----BEGIN {kind} KEY-----\n");
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(64));
        out += line;
        out.push('\n');
        rest = after;
    }
    out + &format!("-----END {kind} KEY-----\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_pem_have_64_characters() {
        let text = pem("PUBLIC", &[0; 91]);
        let lengths: Vec<usize> = text.lines().map(str::len).collect();
        assert_eq!(lengths, [26, 64, 60, 24]);
    }
}
