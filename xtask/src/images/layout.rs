//! An image with one layer, as an OCI image layout and as the archive that `docker load` reads.
//!
//! Invariant: pure; formats are those of <https://github.com/opencontainers/image-spec> 1.1, and keys have a fixed order.

use std::collections::BTreeMap;
use std::io::Write as _;

use anyhow::{Context, Result};
use flate2::{Compression, GzBuilder};
use serde_json::{Value, json};

use super::tar;

const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// What it is.
const DESCRIPTION: &str = "Kubernetes cluster state as Prometheus metrics, sharded";

/// Nobody, as in the manifests of `deploy/`.
const USER: &str = "65534:65534";

/// What an image says of itself.
pub struct About<'a> {
    /// The binary, and the entry point.
    pub name: &'a str,
    /// The tag, which is also its version.
    pub tag: &'a str,
    /// The revision of the sources.
    pub revision: &'a str,
    /// As in [`super::elf::static_architecture`].
    pub architecture: &'a str,
    /// Seconds since the Unix epoch.
    pub date: i64,
}

/// A finished image.
pub struct Image {
    reference: String,
    layer: Vec<u8>,
    packed: Vec<u8>,
    config: Vec<u8>,
    manifest: Vec<u8>,
    tag: String,
    platform: Value,
}

impl Image {
    /// Wraps a layer, given as a tar archive.
    pub fn new(about: &About<'_>, layer: &[u8]) -> Result<Self> {
        let created = rfc3339(about.date);
        let labels = json!({
            "org.opencontainers.image.title": about.name,
            "org.opencontainers.image.description": DESCRIPTION,
            "org.opencontainers.image.licenses": "Apache-2.0",
            "org.opencontainers.image.version": about.tag,
            "org.opencontainers.image.revision": about.revision,
            "org.opencontainers.image.created": created,
        });
        let config = json!({
            "created": created,
            "architecture": about.architecture,
            "os": "linux",
            "config": {
                "User": USER,
                "Entrypoint": [format!("/{}", about.name)],
                "WorkingDir": "/",
                "ExposedPorts": {"8080/tcp": {}, "8081/tcp": {}},
                "Labels": labels,
            },
            "rootfs": {"type": "layers", "diff_ids": [digest(layer)]},
            "history": [{"created": created, "created_by": "cargo xtask build-images"}],
        });
        let config = serde_json::to_vec(&config)?;
        let mut encoder = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
        encoder.write_all(layer).context("cannot compress the layer")?;
        let packed = encoder.finish().context("cannot compress the layer")?;
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": descriptor(CONFIG, &config),
            "layers": [descriptor(LAYER, &packed)],
            "annotations": labels,
        });
        Ok(Self {
            reference: format!("kube-state-metrics-sharded/{}:{}", about.name, about.tag),
            layer: layer.to_vec(),
            packed,
            config,
            manifest: serde_json::to_vec(&manifest)?,
            tag: about.tag.to_owned(),
            platform: json!({"architecture": about.architecture, "os": "linux"}),
        })
    }

    /// The digest that names it in a registry.
    pub fn digest(&self) -> String {
        digest(&self.manifest)
    }

    /// Bytes that a pull takes.
    pub fn packed_bytes(&self) -> usize {
        self.packed.len() + self.config.len() + self.manifest.len()
    }

    /// The files of an OCI image layout, by path.
    pub fn layout(&self) -> BTreeMap<String, Vec<u8>> {
        let mut manifest = descriptor(MANIFEST, &self.manifest);
        manifest["annotations"] = json!({"org.opencontainers.image.ref.name": self.tag});
        manifest["platform"] = self.platform.clone();
        let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": [manifest]});
        let mut files = BTreeMap::from([
            ("oci-layout".to_owned(), br#"{"imageLayoutVersion":"1.0.0"}"#.to_vec()),
            ("index.json".to_owned(), index.to_string().into_bytes()),
        ]);
        for blob in [&self.packed, &self.config, &self.manifest] {
            files.insert(format!("blobs/{}", digest(blob).replace(':', "/")), blob.clone());
        }
        files
    }

    /// The archive that `docker load` and `podman load` read.
    pub fn docker_archive(&self) -> Result<Vec<u8>> {
        let file = |bytes: &[u8], ending: &str| digest(bytes).replace("sha256:", "") + ending;
        let (config, layer) = (file(&self.config, ".json"), file(&self.layer, ".tar"));
        let manifest = json!([{"Config": config, "RepoTags": [self.reference], "Layers": [layer]}]);
        let mut archive = tar::Writer::default();
        archive.file(&layer, 0o644, &self.layer)?;
        archive.file(&config, 0o644, &self.config)?;
        archive.file("manifest.json", 0o644, manifest.to_string().as_bytes())?;
        Ok(archive.finish())
    }
}

fn descriptor(media_type: &str, bytes: &[u8]) -> Value {
    json!({"mediaType": media_type, "digest": digest(bytes), "size": bytes.len()})
}

fn digest(bytes: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
    digest.as_ref().iter().fold("sha256:".to_owned(), |text, byte| text + &format!("{byte:02x}"))
}

/// A moment in UTC, by the days of 400-year eras that begin on 1 March.
fn rfc3339(seconds: i64) -> String {
    let (days, second) = (seconds.div_euclid(86_400) + 719_468, seconds.rem_euclid(86_400));
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image() -> Image {
        let about = About { name: "ksm-node", tag: "v1", revision: "abc", architecture: "amd64", date: 951_782_400 };
        Image::new(&about, &crate::images::layer("ksm-node", &[1; 1000], b"roots").unwrap()).unwrap()
    }

    #[test]
    fn moments_are_written_in_utc() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(rfc3339(1_767_225_599), "2025-12-31T23:59:59Z");
    }

    #[test]
    fn two_builds_have_one_digest() {
        let (first, second) = (image(), image());
        assert_eq!(first.digest(), second.digest());
        assert_eq!(first.layout(), second.layout());
        assert_eq!(first.docker_archive().unwrap(), second.docker_archive().unwrap());
    }

    #[test]
    fn every_blob_has_the_digest_and_size_that_is_said_of_it() {
        let files = image().layout();
        let json = |path: &str| serde_json::from_slice::<Value>(&files[path]).unwrap();
        let find = |descriptor: &Value| {
            let path = format!("blobs/{}", descriptor["digest"].as_str().unwrap().replace(':', "/"));
            assert_eq!(descriptor["size"], files[&path].len());
            path
        };
        let manifest = json(&find(&json("index.json")["manifests"][0]));
        let config = json(&find(&manifest["config"]));
        find(&manifest["layers"][0]);
        assert_eq!(config["config"]["User"], "65534:65534");
        assert_eq!(config["config"]["Entrypoint"], json!(["/ksm-node"]));
        assert_eq!(config["config"]["Labels"]["org.opencontainers.image.revision"], "abc");
        assert_eq!(config["rootfs"]["diff_ids"][0], digest(&image().layer));
    }
}
