//! Layouts, read back as their formats say.

use oci_spec::image::{Descriptor, ImageConfiguration, ImageIndex, ImageManifest};

use super::*;
use crate::image::About;
use crate::layer::layer;
use crate::sources::Stamp;

fn image(platform: Platform) -> (Image, Vec<u8>) {
    let date = "2000-02-29T00:00:00Z".to_owned();
    let stamp = Stamp { version: "0.1.0", revision: "abc".to_owned(), date };
    let about = About { name: "ksm-node", stamp: &stamp, platform };
    let layer = layer("ksm-node", &[platform as u8; 1000], b"roots").unwrap();
    (Image::new(&about, &layer).unwrap(), b"{}".to_vec())
}

fn layout(platforms: &[Platform]) -> Layout {
    Layout::new("ksm-node", "v1", platforms.iter().map(|platform| image(*platform)).collect()).unwrap()
}

/// The blob that a descriptor names, which has the size and digest it says.
fn find<'a>(files: &'a BTreeMap<String, Vec<u8>>, descriptor: &Descriptor) -> &'a [u8] {
    let bytes = &files[&format!("blobs/{}", descriptor.digest().to_string().replace(':', "/"))];
    let blob = Blob::new(descriptor.media_type().clone(), bytes.clone()).unwrap();
    assert_eq!((blob.digest(), blob.descriptor.size()), (descriptor.digest().as_ref(), descriptor.size()));
    bytes
}

fn index(bytes: &[u8]) -> ImageIndex {
    serde_json::from_slice(bytes).unwrap()
}

fn manifest(files: &BTreeMap<String, Vec<u8>>, descriptor: &Descriptor) -> (ImageManifest, ImageConfiguration) {
    let manifest: ImageManifest = serde_json::from_slice(find(files, descriptor)).unwrap();
    let config = serde_json::from_slice(find(files, manifest.config())).unwrap();
    for layer in manifest.layers() {
        find(files, layer);
    }
    (manifest, config)
}

#[test]
fn two_builds_have_the_same_bytes() {
    let platforms = [Platform::Amd64, Platform::Arm64];
    let (first, second) = (layout(&platforms), layout(&platforms));
    assert_eq!(first.root().digest(), second.root().digest());
    assert_eq!(first.files().unwrap(), second.files().unwrap());
    let archive = |layout: &Layout| layout.docker_archive(&layout.images[0].0).unwrap();
    assert_eq!(archive(&first), archive(&second));
}

#[test]
fn an_image_says_what_it_is_and_runs_as_nobody() {
    let files = layout(&[Platform::Amd64]).files().unwrap();
    let entry = &index(&files["index.json"]).manifests()[0].clone();
    assert_eq!(entry.annotations().as_ref().unwrap()[ANNOTATION_REF_NAME], "v1");
    assert_eq!(entry.platform().as_ref().unwrap().architecture().to_string(), "amd64");
    let (manifest, config) = manifest(&files, entry);
    let run = config.config().as_ref().unwrap();
    assert_eq!(run.user().as_deref(), Some("65534:65534"));
    assert_eq!(run.entrypoint().as_deref(), Some(["/ksm-node".to_owned()].as_slice()));
    let labels = run.labels().as_ref().unwrap();
    assert_eq!(manifest.annotations().as_ref(), Some(labels));
    let label = |name: &str| labels[&format!("org.opencontainers.image.{name}")].as_str();
    assert_eq!((label("title"), label("version"), label("revision")), ("ksm-node", "0.1.0", "abc"));
    assert_eq!((label("created"), label("licenses")), ("2000-02-29T00:00:00Z", "Apache-2.0"));
    assert_eq!(config.created().as_deref(), Some(label("created")));
    assert_eq!(config.rootfs().diff_ids(), &[image(Platform::Amd64).0.layer.digest().to_owned()]);
    // Sorted, whatever order a hash map has.
    let text = String::from_utf8_lossy(find(&files, manifest.config())).into_owned();
    assert!(text.find("image.created").unwrap() < text.find("image.title").unwrap(), "{text}");
}

#[test]
fn several_platforms_make_one_index_under_the_tag() {
    let layout = layout(&[Platform::Amd64, Platform::Arm64]);
    let files = layout.files().unwrap();
    let entry = index(&files["index.json"]);
    let [root] = entry.manifests().as_slice() else { panic!("one entry under the tag") };
    assert_eq!((root.media_type(), root.digest().as_ref()), (&MediaType::ImageIndex, layout.root().digest()));
    let images = index(find(&files, root));
    let architectures: Vec<String> = images
        .manifests()
        .iter()
        .map(|descriptor| {
            let named = descriptor.platform().as_ref().unwrap().architecture().to_string();
            assert_eq!(manifest(&files, descriptor).1.architecture().to_string(), named);
            named
        })
        .collect();
    assert_eq!(architectures, ["amd64", "arm64"]);
}

#[test]
fn an_archive_names_what_is_in_it() {
    let layout = layout(&[Platform::Amd64]);
    let bytes = layout.docker_archive(&layout.images[0].0).unwrap();
    let mut archive = tar::Archive::new(bytes.as_slice());
    let mut found = BTreeMap::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let mut content = Vec::new();
        std::io::copy(&mut entry, &mut content).unwrap();
        found.insert(entry.path().unwrap().display().to_string(), content);
    }
    let manifest: serde_json::Value = serde_json::from_slice(&found["manifest.json"]).unwrap();
    assert_eq!(manifest[0]["RepoTags"], json!(["localhost/kube-state-metrics-sharded/ksm-node:v1"]));
    let config: ImageConfiguration = serde_json::from_slice(&found[manifest[0]["Config"].as_str().unwrap()]).unwrap();
    let layer = Blob::new(MediaType::ImageLayer, found[manifest[0]["Layers"][0].as_str().unwrap()].clone()).unwrap();
    assert_eq!(config.rootfs().diff_ids(), &[layer.digest().to_owned()]);
}

#[test]
fn a_folder_that_is_no_layout_is_left_alone() {
    let out = std::env::temp_dir().join(format!("ksm-images-test-{}", std::process::id()));
    let folder = out.join("ksm-node");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("precious"), "x").unwrap();
    let error = layout(&[Platform::Amd64]).write(&out).unwrap_err().to_string();
    assert!(error.ends_with("is there and is no OCI layout"), "{error}");
    assert!(folder.join("precious").is_file());
    fs::remove_file(folder.join("precious")).unwrap();
    fs::write(folder.join("oci-layout"), "{}").unwrap();
    layout(&[Platform::Amd64]).write(&out).unwrap();
    let mut written: Vec<String> =
        fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    written.sort();
    assert_eq!(written, ["ksm-node", "ksm-node-linux-amd64.cdx.json", "ksm-node-linux-amd64.docker.tar"]);
    fs::remove_dir_all(&out).unwrap();
}
