//! TLS and the auth filter, as the component `tls-auth` turns them on: a certificate from a Secret, real token reviews.
//!
//! Invariant: the certificate has the name that the manifests ask for, and 127.0.0.1, where processes listen here.

use std::net::{IpAddr, Ipv4Addr};

use anyhow::{Context, Result, ensure};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, SanType};
use serde_json::{Value, json};

use super::{ACCOUNT, NAMESPACE, Run};
use crate::e2e::api::text;
use crate::http::Client;

/// What a certificate manager would put into a Secret.
pub struct Certificate {
    /// PEM of who signed it.
    pub authority: String,
    /// The Secret.
    pub name: String,
    certificate: String,
    key: String,
}

impl Certificate {
    /// For the Secret and the server name that the monitors of the overlays name.
    pub fn make(overlays: &[(Vec<Value>, String)]) -> Result<Self> {
        let monitors =
            overlays.iter().flat_map(|(objects, _)| objects).filter(|object| object["kind"] == "ServiceMonitor");
        let tls = monitors.filter_map(|monitor| monitor.pointer("/spec/endpoints/0/tlsConfig")).next();
        let tls = tls.context("an overlay has a monitor with TLS")?;
        let mut params = CertificateParams::new(Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        let mut params = CertificateParams::new(vec![text(tls, "/serverName")?.to_owned()])?;
        params.subject_alt_names.push(SanType::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST)));
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &issuer)?.pem();
        let name = text(tls, "/ca/secret/name")?.to_owned();
        Ok(Self { authority: issuer.pem(), name, certificate, key: key.serialize_pem() })
    }

    /// The Secret.
    pub fn secret(&self) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "kubernetes.io/tls",
            "metadata": {"name": self.name, "namespace": NAMESPACE},
            "stringData": {"tls.crt": self.certificate, "tls.key": self.key, "ca.crt": self.authority},
        })
    }
}

/// Both ports of every process answer Prometheus alone; pages for probes are open; monitors know.
pub fn check(run: &Run<'_>, objects: &[Value]) -> Result<String> {
    for monitor in objects.iter().filter(|object| object["kind"] == "ServiceMonitor") {
        for endpoint in monitor["spec"]["endpoints"].as_array().context("a monitor has endpoints")? {
            let secret = run.kubelet.reader().secret.as_str();
            let known = endpoint["scheme"] == "https"
                && endpoint["tlsConfig"]["ca"]["secret"] == json!({"name": secret, "key": "ca.crt"})
                && endpoint["tlsConfig"]["serverName"].is_string()
                && endpoint["bearerTokenFile"] == format!("{ACCOUNT}/token");
            ensure!(known, "a monitor scrapes without TLS or token: {endpoint}");
        }
    }
    let without_rights = run.api.token("default", "default", None)?;
    let mut asked = 0;
    for instance in run.kubelet.instances() {
        for client in [&instance.exporter.metrics, &instance.exporter.telemetry] {
            let nobody = client.without_token();
            for (who, client, path, expected) in [
                ("Prometheus", client.clone(), "/metrics", 200),
                ("nobody", nobody.clone(), "/metrics", 401),
                ("a wrong token", client.with_token("wrong"), "/metrics", 401),
                ("an account without rights", client.with_token(&without_rights), "/metrics", 403),
                ("a probe", nobody.clone(), "/livez", 200),
                ("a probe", nobody, "/readyz", 200),
            ] {
                let status = client.get(path, None)?.status;
                let place = format!("{}{path}", client.base());
                ensure!(status == expected, "{place} answered {who} with {status}, not {expected}");
                asked += 1;
            }
            let plain = Client::plain(client.base().replace("https:", "http:"));
            let answered = plain.get("/metrics", None).is_ok_and(|answer| answer.status == 200);
            ensure!(!answered, "{} serves metrics without TLS", client.base());
        }
    }
    Ok(format!("{asked} answers of 200, 401 and 403 over TLS as they should be"))
}
