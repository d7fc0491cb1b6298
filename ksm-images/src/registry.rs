//! `--push`: images into a registry, by the protocol of <https://github.com/opencontainers/distribution-spec>.
//!
//! Invariant: a tag moves last. The registry is asked before anything is built whether the user may push each image; every
//! blob and manifest of every image is there before the first tag names one.

mod credentials;
mod failure;

use anyhow::{Context, Result, ensure};
use oci_client::client::{ClientConfig, ClientProtocol};
use oci_client::errors::OciDistributionError;
use oci_client::secrets::RegistryAuth;
use oci_client::{Client, Reference, RegistryOperation};
use oci_spec::image::{Descriptor, ImageManifestBuilder, MediaType, SCHEMA_VERSION};
use reqwest::header::{HeaderValue, LOCATION};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use self::failure::explain;
use crate::image::Blob;
use crate::layout::Layout;

/// Time to connect, and the longest silence of a registry.
const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(60);

/// What a bill of materials is called in registries.
const BILL: &str = "application/vnd.cyclonedx+json";

/// A registry that answers, and the user it is asked as.
pub struct Registry {
    runtime: Runtime,
    client: Client,
    auth: RegistryAuth,
    /// Where each image goes, by the binary.
    references: Vec<(&'static str, Reference)>,
}

impl Registry {
    /// Connects to the registry in `to` (`REGISTRY/REPO`), below which each of `names` has its repository.
    ///
    /// # Errors
    /// `to` is not understood, the registry does not answer, or it refuses the user a push to one of them.
    pub fn open(to: &str, names: &[&'static str], tag: &str, insecure: bool) -> Result<Self> {
        let references = names.iter().map(|name| Ok((*name, reference(to, name, tag)?))).collect::<Result<Vec<_>>>()?;
        let (_, first) = references.first().context("there is nothing to push")?;
        let registry = first.resolve_registry().to_owned();
        // The client trusts what the system does; which code does the arithmetic is chosen once a process.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let plain = insecure || is_local(&registry);
        let config = ClientConfig {
            protocol: if plain { ClientProtocol::Http } else { ClientProtocol::Https },
            // Our blobs are small, and more registries take them in one piece than in several.
            use_monolithic_push: true,
            connect_timeout: Some(TIMEOUT),
            read_timeout: Some(TIMEOUT),
            user_agent: concat!("kube-state-metrics-sharded/", env!("CARGO_PKG_VERSION")),
            ..ClientConfig::default()
        };
        let client = Client::try_from(config).map_err(|error| explain(error, &registry))?;
        let runtime = Builder::new_current_thread().enable_all().build().context("cannot start an async runtime")?;
        let auth = credentials::find(&registry)?;
        let http = reqwest::Client::builder().connect_timeout(TIMEOUT).read_timeout(TIMEOUT).build();
        let http = http.context("cannot make an HTTP client")?;
        let scheme = if plain { "http" } else { "https" };
        for (_, reference) in &references {
            let asked = async {
                let token = client.auth(reference, &auth, RegistryOperation::Push).await?;
                let user = User { token, auth: &auth };
                may_push(&http, scheme, reference, &user).await
            };
            let outcome = runtime.block_on(asked).map_err(|error| explain(error, &registry));
            outcome.with_context(|| format!("cannot push {reference}"))?;
        }
        Ok(Self { runtime, client, auth, references })
    }

    /// Pushes images; returns their names and digests.
    pub fn push(&self, layouts: &[Layout]) -> Result<Vec<String>> {
        let mut pushed = Vec::new();
        for layout in layouts {
            self.run(layout, self.push_content(layout))?;
        }
        for layout in layouts {
            let reference = self.reference(layout)?;
            self.run(layout, self.push_manifest(reference, layout.root()))?;
            let found = self.run(layout, self.client.fetch_manifest_digest(reference, &self.auth))?;
            ensure!(
                found == layout.root().digest(),
                "{reference} is now {found} and not {}: somebody else pushed it too",
                layout.root().digest()
            );
            pushed.push(format!("{reference} {found}"));
        }
        Ok(pushed)
    }

    fn run<T>(&self, layout: &Layout, work: impl Future<Output = oci_client::errors::Result<T>>) -> Result<T> {
        let reference = self.reference(layout)?;
        let outcome = self.runtime.block_on(work);
        outcome
            .map_err(|error| explain(error, reference.resolve_registry()))
            .with_context(|| format!("cannot push {reference}"))
    }

    fn reference(&self, layout: &Layout) -> Result<&Reference> {
        let mut references = self.references.iter();
        let found = references.find(|(name, _)| *name == layout.name).map(|(_, reference)| reference);
        found.with_context(|| format!("nowhere to push {} to", layout.name))
    }

    /// Everything but the tag.
    async fn push_content(&self, layout: &Layout) -> oci_client::errors::Result<()> {
        let reference = self.reference(layout).map_err(failure::other)?;
        for (image, bill) in &layout.images {
            self.push_blob(reference, &image.packed).await?;
            self.push_blob(reference, &image.config).await?;
            self.push_manifest(&at(reference, image.manifest.digest()), &image.manifest).await?;
            if let Err(error) = self.push_bill(reference, &image.manifest, bill).await {
                let why = explain(error, reference.resolve_registry());
                eprintln!("warning: {reference}: its bill of materials is not in the registry: {why:#}");
            }
        }
        Ok(())
    }

    async fn push_blob(&self, reference: &Reference, blob: &Blob) -> oci_client::errors::Result<()> {
        if !self.client.blob_exists(reference, blob.digest()).await? {
            self.client.push_blob(reference, blob.bytes.clone(), blob.digest()).await?;
        }
        Ok(())
    }

    async fn push_manifest(&self, reference: &Reference, manifest: &Blob) -> oci_client::errors::Result<()> {
        let kind = HeaderValue::from_str(manifest.descriptor.media_type().as_ref());
        let kind = kind.map_err(failure::other)?;
        self.client.push_manifest_raw(reference, manifest.bytes.clone(), kind).await?;
        Ok(())
    }

    /// Puts a bill of materials beside the image, where tools look for what refers to it.
    async fn push_bill(&self, reference: &Reference, image: &Blob, bill: &[u8]) -> oci_client::errors::Result<()> {
        let (empty, bill, manifest) = bill_of(image, bill).map_err(failure::other)?;
        self.push_blob(reference, &empty).await?;
        self.push_blob(reference, &bill).await?;
        self.push_manifest(&at(reference, manifest.digest()), &manifest).await?;
        // A registry without the list of referrers has them in an index, under a tag that clients keep.
        let subject = at(reference, image.digest());
        let mut present = serde_json::to_value(self.client.pull_referrers(&subject, None).await?)?;
        if add_referrer(&mut present, &manifest)? {
            let index = Blob::json(MediaType::ImageIndex, &present).map_err(failure::other)?;
            let tag = image.digest().replace(':', "-");
            let place = Reference::with_tag(reference.registry().to_owned(), reference.repository().to_owned(), tag);
            self.push_manifest(&place, &index).await?;
        }
        Ok(())
    }
}

/// Who asks: with a token, or with a name and password where the registry gives none.
struct User<'a> {
    token: Option<String>,
    auth: &'a RegistryAuth,
}

impl User<'_> {
    fn sign(&self, request: reqwest::RequestBuilder) -> reqwest::RequestBuilder {
        match (&self.token, self.auth) {
            (Some(token), _) => request.bearer_auth(token),
            (None, RegistryAuth::Basic(name, password)) => request.basic_auth(name, Some(password)),
            _ => request,
        }
    }
}

/// Starts an upload and cancels it: only then it is certain that a user may push, for tokens are given to those who may
/// only pull as well, and a question about a blob is none of pushing.
async fn may_push(
    http: &reqwest::Client,
    scheme: &str,
    reference: &Reference,
    user: &User<'_>,
) -> oci_client::errors::Result<()> {
    let url = format!("{scheme}://{}/v2/{}/blobs/uploads/", reference.resolve_registry(), reference.repository());
    let answer = user.sign(http.post(url)).send().await?;
    if !answer.status().is_success() {
        let (code, url) = (answer.status().as_u16(), answer.url().to_string());
        let message = answer.text().await.unwrap_or_default();
        return Err(OciDistributionError::ServerError { code, url, message });
    }
    // May be relative.
    let location = answer.headers().get(LOCATION).and_then(|location| answer.url().join(location.to_str().ok()?).ok());
    if let Some(location) = location {
        // Registries that cannot cancel drop it in time.
        let _ = user.sign(http.delete(location)).send().await;
    }
    Ok(())
}

/// The blobs of a bill of materials as an artifact: an empty configuration, the bill, and the manifest that refers to the
/// image.
fn bill_of(image: &Blob, bill: &[u8]) -> Result<(Blob, Blob, Blob)> {
    let kind = MediaType::from(BILL);
    let (empty, bill) = (Blob::empty()?, Blob::new(kind.clone(), bill.to_vec())?);
    let (subject, of) = (&image.descriptor, &image.descriptor);
    let manifest = ImageManifestBuilder::default()
        .schema_version(SCHEMA_VERSION)
        .media_type(MediaType::ImageManifest)
        .artifact_type(kind)
        .config(empty.descriptor.clone())
        .layers([bill.descriptor.clone()])
        .subject(Descriptor::new(of.media_type().clone(), of.size(), subject.digest().clone()))
        .build()?;
    Ok((empty, bill, Blob::json(MediaType::ImageManifest, &manifest)?))
}

/// Adds an artifact to an index of referrers; says whether it was not there.
fn add_referrer(index: &mut Value, manifest: &Blob) -> serde_json::Result<bool> {
    let mut entry = serde_json::to_value(&manifest.descriptor)?;
    entry["artifactType"] = json!(BILL);
    let Some(present) = index["manifests"].as_array_mut() else { return Ok(false) };
    let absent = present.iter().all(|known| known["digest"] != entry["digest"]);
    if absent {
        present.push(entry);
    }
    Ok(absent)
}

/// The same repository, at a digest.
fn at(reference: &Reference, digest: &str) -> Reference {
    Reference::with_digest(reference.registry().to_owned(), reference.repository().to_owned(), digest.to_owned())
}

fn reference(to: &str, name: &str, tag: &str) -> Result<Reference> {
    let to = to.trim_end_matches('/');
    let registry = to.split('/').next().unwrap_or_default();
    // As docker tells a registry from a name on its own hub.
    ensure!(
        registry == "localhost" || registry.contains(['.', ':']),
        "--push {to}: want REGISTRY/REPO, such as registry.example.com/monitoring"
    );
    let text = format!("{to}/{name}:{tag}");
    let parsed: Result<Reference, _> = text.parse();
    let parsed = parsed.map_err(|error| anyhow::anyhow!("--push {to}: {error}"))?;
    ensure!(parsed.digest().is_none() && parsed.tag() == Some(tag), "--push {to}: give the tag with --tag");
    Ok(parsed)
}

/// Whether a registry is on this machine, where docker speaks plain HTTP as well.
fn is_local(registry: &str) -> bool {
    let host = match registry.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => registry.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_for_each_binary_lies_below_what_is_given() {
        for (to, whole) in [
            ("registry.example.com/a/b", "registry.example.com/a/b/ksm-node:v1"),
            ("localhost:5000", "localhost:5000/ksm-node:v1"),
            ("127.0.0.1:5000/x/", "127.0.0.1:5000/x/ksm-node:v1"),
        ] {
            assert_eq!(reference(to, "ksm-node", "v1").unwrap().whole(), whole);
        }
        for bad in ["", "monitoring", "monitoring/x", "example.com/UPPER", "example.com/a:v2", "example.com/a b"] {
            let error = reference(bad, "ksm-node", "v1").unwrap_err().to_string();
            assert!(error.starts_with(&format!("--push {bad}: ")), "{error}");
        }
    }

    /// A registry in which everybody may push to one repository alone; returns its address and the requests that come.
    fn registry_for(repository: &'static str) -> (String, std::sync::mpsc::Receiver<String>) {
        use std::io::{BufRead, BufReader, Write};
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (sender, requests) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut reader = BufReader::new(stream);
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                let request = line.rsplit_once(' ').unwrap().0.to_owned();
                line.clear();
                while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
                    line.clear();
                }
                let status = match request.split_once(' ').unwrap() {
                    ("GET", _) => "200 OK\r\n",
                    ("POST", path) if path.contains(repository) => "202 Accepted\r\nLocation: /upload/1\r\n",
                    ("DELETE", _) => "204 No Content\r\n",
                    _ => "403 Forbidden\r\n",
                };
                let head = format!("HTTP/1.1 {status}Content-Length: 0\r\nConnection: close\r\n\r\n");
                // Before the answer, so that whoever has it finds the request noted.
                let _ = sender.send(request);
                reader.get_mut().write_all(head.as_bytes()).unwrap();
            }
        });
        (address, requests)
    }

    #[test]
    fn a_user_who_may_not_push_one_of_the_images_learns_so_at_once() {
        let (address, requests) = registry_for("ksm-shard");
        let to = format!("{address}/a");
        let opened = Registry::open(&to, &["ksm-shard", "ksm-node"], "v1", false);
        let error = format!("{:#}", opened.err().expect("one may not be pushed"));
        assert!(error.starts_with(&format!("cannot push {to}/ksm-node:v1: {address} refuses (403)")), "{error}");
        let asked: Vec<String> = requests.try_iter().filter(|request| !request.starts_with("GET")).collect();
        let expected =
            ["POST /v2/a/ksm-shard/blobs/uploads/", "DELETE /upload/1", "POST /v2/a/ksm-node/blobs/uploads/"];
        assert_eq!(asked, expected);
        Registry::open(&to, &["ksm-shard"], "v1", false).unwrap();
    }

    #[test]
    fn registries_on_this_machine_are_known() {
        for local in ["localhost", "localhost:5000", "127.0.0.1:5000", "127.1.2.3", "[::1]:5000"] {
            assert!(is_local(local), "{local}");
        }
        for other in ["registry.example.com", "localhost.example.com:5000", "10.0.0.1:5000", "[fe80::1]:5000"] {
            assert!(!is_local(other), "{other}");
        }
    }

    #[test]
    fn a_bill_refers_to_its_image_and_is_listed_once() {
        let image = Blob::new(MediaType::ImageManifest, b"image".to_vec()).unwrap();
        let (_, bill, manifest) = bill_of(&image, b"bill").unwrap();
        let value: Value = serde_json::from_slice(&manifest.bytes).unwrap();
        assert_eq!(value["artifactType"], BILL);
        assert_eq!(value["subject"]["digest"], image.digest());
        assert_eq!(value["layers"][0]["digest"], bill.digest());
        let mut index = json!({"schemaVersion": 2, "manifests": []});
        assert!(add_referrer(&mut index, &manifest).unwrap());
        assert!(!add_referrer(&mut index, &manifest).unwrap());
        assert_eq!(index["manifests"].as_array().unwrap().len(), 1);
        assert_eq!(index["manifests"][0]["artifactType"], BILL);
    }
}
