//! A resource: its place in the API, its base labels and its table of families.
//!
//! [`Resource`] is a static table over one view; [`AnyResource`] is what the rest of the program sees, so that resources
//! known only at run time fit in as well.

use std::sync::Arc;

use crate::exposition::write_label;
use crate::family::{Family, FamilyInfo, MAX_TEXT, Plan, Samples, Written};
use crate::view::{DecodeError, Encoding, Object, ObjectMeta, decode};

/// Whether objects live in a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Each object is in a namespace.
    Namespaced,
    /// Objects belong to the whole cluster.
    Cluster,
}

/// How much of each object the API server is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fetch {
    /// Whole objects.
    Whole,
    /// `PartialObjectMetadata`: no spec, status or data ever leaves the API server.
    MetadataOnly,
}

/// Where a resource is in the API, and how it is served here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Descriptor<'a> {
    /// Plural name, as in API paths and in `--resources`.
    pub plural: &'a str,
    /// API group, empty for core.
    pub group: &'a str,
    /// API version.
    pub version: &'a str,
    /// Kind of the objects.
    pub kind: &'a str,
    /// Whether objects live in a namespace.
    pub scope: Scope,
    /// How much of each object is read.
    pub fetch: Fetch,
    /// Served without `--resources`.
    pub enabled_by_default: bool,
}

/// A label that every family of a resource carries.
pub struct BaseLabel<V: 'static> {
    /// Label name.
    pub name: &'static str,
    /// Its value.
    pub value: fn(&V) -> &str,
}

/// A resource whose objects view `V` reads.
pub struct Resource<V: 'static> {
    /// Where it is in the API.
    pub descriptor: Descriptor<'static>,
    /// Labels of every family, in order.
    pub base_labels: &'static [BaseLabel<V>],
    /// Table order is exposition order.
    pub families: &'static [Family<V>],
}

/// The samples of one object: text by family.
#[derive(Clone, Debug, Default)]
pub struct Rendered {
    /// Sample lines, family after family in plan order.
    pub text: Vec<u8>,
    /// For each family of the plan, where its lines end in `text`.
    pub ends: Vec<u32>,
    /// For each family of the plan, how many samples it has.
    pub samples: Vec<u32>,
    base: Vec<u8>,
    written: Written,
}

/// Room for text that is kept from one object to the next, in bytes.
const KEPT_TEXT: usize = 1 << 20;

impl Rendered {
    /// The text alone, without memory to reuse.
    pub(crate) fn text_only(&self) -> Self {
        let (text, ends, samples) = (self.text.clone(), self.ends.clone(), self.samples.clone());
        Self { text, ends, samples, ..Self::default() }
    }

    /// Empties it, keeping its memory for the next object unless this one was out of the ordinary.
    pub fn clear(&mut self) {
        if self.text.capacity() > KEPT_TEXT {
            *self = Self::default();
        }
        self.text.clear();
        self.ends.clear();
        self.samples.clear();
        self.base.clear();
        self.written.repeated = 0;
    }
}

/// A resource of any view.
pub trait AnyResource: Send + Sync {
    /// Where it is in the API.
    fn descriptor(&self) -> Descriptor<'_>;

    /// Its families in exposition order.
    fn families(&self) -> Vec<FamilyInfo<'_>>;

    /// Names of the labels that every family carries, in order.
    fn base_labels(&self) -> Vec<&str>;

    /// Decodes one object and, if `admit` says so of its metadata, renders it into `out` (cleared first).
    /// Returns whether it was admitted.
    ///
    /// # Errors
    /// The object does not decode, or has samples beyond measure; `out` is then of no use, and nothing else is lost.
    fn render(
        &self,
        encoding: Encoding,
        bytes: &[u8],
        plan: &Plan,
        admit: &mut dyn FnMut(&ObjectMeta) -> bool,
        out: &mut Rendered,
    ) -> Result<bool, DecodeError>;
}

/// Resources of a table that is there as long as the program, as whatever serves them holds them. One that is known
/// only at run time is held in the same way, and goes with the last who holds it.
pub fn shared(table: &'static [&'static dyn AnyResource]) -> Vec<Arc<dyn AnyResource>> {
    table.iter().map(|resource| Arc::new(*resource) as Arc<dyn AnyResource>).collect()
}

impl<R: AnyResource + ?Sized> AnyResource for &R {
    fn descriptor(&self) -> Descriptor<'_> {
        (**self).descriptor()
    }

    fn families(&self) -> Vec<FamilyInfo<'_>> {
        (**self).families()
    }

    fn base_labels(&self) -> Vec<&str> {
        (**self).base_labels()
    }

    fn render(
        &self,
        encoding: Encoding,
        bytes: &[u8],
        plan: &Plan,
        admit: &mut dyn FnMut(&ObjectMeta) -> bool,
        out: &mut Rendered,
    ) -> Result<bool, DecodeError> {
        (**self).render(encoding, bytes, plan, admit, out)
    }
}

impl<V: Object> AnyResource for Resource<V> {
    fn descriptor(&self) -> Descriptor<'_> {
        self.descriptor
    }

    fn families(&self) -> Vec<FamilyInfo<'_>> {
        self.families.iter().map(|family| family.info).collect()
    }

    fn base_labels(&self) -> Vec<&str> {
        self.base_labels.iter().map(|label| label.name).collect()
    }

    fn render(
        &self,
        encoding: Encoding,
        bytes: &[u8],
        plan: &Plan,
        admit: &mut dyn FnMut(&ObjectMeta) -> bool,
        out: &mut Rendered,
    ) -> Result<bool, DecodeError> {
        let object: V = decode(encoding, bytes)?;
        if !admit(object.metadata()) {
            return Ok(false);
        }
        out.clear();
        for (i, label) in self.base_labels.iter().enumerate() {
            if i > 0 {
                out.base.push(b',');
            }
            write_label(&mut out.base, label.name, (label.value)(&object));
        }
        for &index in plan.families() {
            let family = &self.families[index];
            let mut samples = Samples::new(&mut out.text, family.info, &out.base, plan, &mut out.written);
            (family.samples)(&object, &mut samples);
            let count = samples.count();
            out.samples.push(count);
            if out.text.len() + out.written.repeated > MAX_TEXT {
                return Err(DecodeError::new("samples of more than 64 MiB"));
            }
            out.ends.push(u32::try_from(out.text.len()).expect("at most MAX_TEXT"));
        }
        Ok(true)
    }
}
