//! TLS of a listener: from a web configuration file to what rustls takes.
//!
//! A client certificate that is demanded is demanded for pages, not for the connection: health pages stay open to
//! probes, which have none.

use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::version::{TLS12, TLS13};
use rustls::{NamedGroup, ProtocolVersion, RootCertStore, ServerConfig, SupportedProtocolVersion};

use super::web::{Pems, TlsContent, WebError};

/// What a listener serves TLS with.
pub(super) struct Tls {
    pub(super) config: Arc<ServerConfig>,
    /// Pages need a client certificate.
    pub(super) client_certificates: bool,
}

/// # Errors
/// Something is missing, does not parse, does not fit, or cannot be honoured.
pub(super) fn server_config(content: &TlsContent, pems: &Pems) -> Result<Tls, WebError> {
    let unusable = |why: &str| WebError::Unusable(format!("tls_server_config: {why}"));
    if !content.client_allowed_sans.is_empty() {
        return Err(unusable("client_allowed_sans is not supported"));
    }
    if pems.certificate.is_empty() || pems.key.is_empty() {
        return Err(unusable("a certificate (cert or cert_file) and its key (key or key_file) are needed"));
    }
    let certificates = certificates(&pems.certificate).ok_or_else(|| unusable("the certificate is not PEM"))?;
    let key = PrivateKeyDer::from_pem_slice(&pems.key).map_err(|_| unusable("the key is not PEM"))?;
    let (checked, client_certificates) = match content.client_auth_type.as_str() {
        // What is asked for and not looked at need not be asked for.
        "" | "NoClientCert" | "RequestClientCert" => (false, false),
        "VerifyClientCertIfGiven" => (true, false),
        "RequireAndVerifyClientCert" => (true, true),
        "RequireAnyClientCert" | "RequireClientCert" => {
            return Err(unusable("client_auth_type: certificates that are not verified guard nothing"));
        }
        _ => return Err(unusable("client_auth_type: no such type")),
    };
    if checked == pems.client_authority.is_empty() {
        return Err(unusable("client_auth_type and client_ca (or client_ca_file) go together"));
    }
    let provider = Arc::new(provider(content).map_err(|why| unusable(&why))?);
    let versions = versions(content).map_err(|why| unusable(&why))?;
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider)).with_protocol_versions(&versions)?;
    let builder = if checked {
        let mut roots = RootCertStore::empty();
        let authorities = self::certificates(&pems.client_authority);
        for authority in authorities.ok_or_else(|| unusable("the client authority is not PEM"))? {
            roots.add(authority)?;
        }
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        let verifier = verifier.allow_unauthenticated().build();
        builder.with_client_cert_verifier(verifier.map_err(|error| unusable(&error.to_string()))?)
    } else {
        builder.with_no_client_auth()
    };
    let mut config = builder.with_single_cert(certificates, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Tls { config: Arc::new(config), client_certificates })
}

/// At least one, or nothing.
fn certificates(pem: &[u8]) -> Option<Vec<CertificateDer<'static>>> {
    let certificates = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>().ok()?;
    (!certificates.is_empty()).then_some(certificates)
}

/// The cipher suites and curves to offer. Names are Go's; those that are not there are left out, as weak ones are.
fn provider(content: &TlsContent) -> Result<CryptoProvider, String> {
    let mut provider = rustls::crypto::ring::default_provider();
    if !content.cipher_suites.is_empty() {
        let names: Vec<&str> = content.cipher_suites.iter().map(|name| name.trim_end_matches("_SHA256")).collect();
        provider.cipher_suites.retain(|suite| {
            let name = format!("{:?}", suite.suite());
            // Those of TLS 1.3 cannot be chosen in Go either.
            suite.version().version == ProtocolVersion::TLSv1_3 || names.contains(&name.trim_end_matches("_SHA256"))
        });
    }
    if !content.curve_preferences.is_empty() {
        let wanted: Vec<NamedGroup> = content.curve_preferences.iter().filter_map(|name| group(name)).collect();
        let mut groups = Vec::new();
        for group in wanted {
            groups.extend(provider.kx_groups.iter().copied().find(|known| known.name() == group));
        }
        if groups.is_empty() {
            return Err("curve_preferences: none of X25519, CurveP256 and CurveP384".to_owned());
        }
        provider.kx_groups = groups;
    }
    Ok(provider)
}

fn group(name: &str) -> Option<NamedGroup> {
    match name {
        "X25519" => Some(NamedGroup::X25519),
        "CurveP256" => Some(NamedGroup::secp256r1),
        "CurveP384" => Some(NamedGroup::secp384r1),
        _ => None,
    }
}

/// Versions between the least and the most; older ones than 1.2 are not spoken whatever the least is.
fn versions(content: &TlsContent) -> Result<Vec<&'static SupportedProtocolVersion>, String> {
    let minor = |key: &str, version: &str, default| match version {
        "" => Ok(default),
        "TLS10" => Ok(0),
        "TLS11" => Ok(1),
        "TLS12" => Ok(2),
        "TLS13" => Ok(3),
        _ => Err(format!("{key}: no such version, expected TLS12 or TLS13")),
    };
    let least = minor("min_version", &content.min_version, 2)?;
    let most = minor("max_version", &content.max_version, 3)?;
    let versions: Vec<_> =
        [(2, &TLS12), (3, &TLS13)].into_iter().filter(|(minor, _)| (least..=most).contains(minor)).collect();
    if versions.is_empty() {
        return Err("min_version and max_version leave neither TLS 1.2 nor TLS 1.3".to_owned());
    }
    Ok(versions.into_iter().map(|(_, version)| version).collect())
}
