//! Message descriptions of the Kubernetes API, read once from the committed descriptor set.
//!
//! `schema/kubernetes.binpb` is rebuilt by the `schema` example, which also says what `json_name` means there.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
    sync::{LazyLock, OnceLock},
};

use prost::Message as _;
use prost_types::{
    DescriptorProto, FileDescriptorSet,
    field_descriptor_proto::{Label, Type},
};

static DESCRIPTORS: &[u8] = include_bytes!("../../schema/kubernetes.binpb");
static SCHEMA: LazyLock<Schema> = LazyLock::new(|| Schema::load(DESCRIPTORS));

/// Messages whose JSON form differs from their fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// An object with one key for each field.
    Plain,
    /// RFC 3339 with seconds.
    Time,
    /// RFC 3339 with microseconds.
    MicroTime,
    /// A string, kept as written.
    Quantity,
    /// A number or a string.
    IntOrString,
    /// Any JSON, kept as its text.
    Json,
    /// A bare list: the only field is `items` (`ExtraValue`).
    Items,
    /// A schema or a boolean (`JSONSchemaPropsOrBool`).
    SchemaOrBool,
    /// A schema or a list of them (`JSONSchemaPropsOrArray`).
    SchemaOrList,
    /// A schema or a list of strings (`JSONSchemaPropsOrStringArray`).
    SchemaOrStrings,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Bool,
    Int32,
    Int64,
    Double,
    String,
    Bytes,
    Message(&'static str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    One,
    List,
    /// String keys; `kind` is that of the values.
    Map,
    /// A message whose fields stand among its parent's.
    Embedded,
}

#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) number: u32,
    /// The key in JSON; empty for embedded messages.
    pub(crate) json: String,
    pub(crate) kind: Kind,
    pub(crate) shape: Shape,
    message: OnceLock<&'static Message>,
}

#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) form: Form,
    /// In order of their numbers.
    pub(crate) fields: Vec<Field>,
    /// Indices of the fields by JSON key; keys of embedded messages lead to the field that embeds them.
    by_json: HashMap<String, usize, BuildHasherDefault<Fnv>>,
}

pub(crate) struct Schema {
    messages: HashMap<String, Message>,
}

/// The message with this full name, such as `k8s.io.api.core.v1.Pod`.
pub(crate) fn message(name: &str) -> Option<&'static Message> {
    SCHEMA.messages.get(name)
}

impl Field {
    /// The description of the field's message.
    pub(crate) fn message(&self) -> Option<&'static Message> {
        let Kind::Message(name) = self.kind else { return None };
        Some(self.message.get_or_init(|| message(name).expect("the descriptor set is closed under its references")))
    }
}

impl Message {
    pub(crate) fn by_number(&self, number: u32) -> Option<&Field> {
        self.fields.binary_search_by_key(&number, |field| field.number).ok().map(|index| &self.fields[index])
    }

    /// The field with this JSON key, or the embedded message that has it.
    pub(crate) fn by_json(&self, key: &str) -> Option<(usize, &Field)> {
        self.by_json.get(key).map(|&index| (index, &self.fields[index]))
    }

    /// Whether JSON objects of the message may carry `kind` and `apiVersion`, which protobuf leaves to the envelope.
    pub(crate) fn is_object(&self) -> bool {
        self.by_json.contains_key("metadata")
    }

    /// Field numbers of a dotted path such as `spec.nodeName`, and the kind at its end.
    pub(crate) fn path(&self, path: &str) -> Option<(Vec<u32>, Kind)> {
        let (key, rest) = path.split_once('.').map_or((path, None), |(key, rest)| (key, Some(rest)));
        let (_, field) = self.by_json(key).filter(|(_, field)| field.shape != Shape::Embedded)?;
        match rest {
            None => Some((vec![field.number], field.kind)),
            Some(rest) => {
                let (mut numbers, kind) = field.message()?.path(rest)?;
                numbers.insert(0, field.number);
                Some((numbers, kind))
            }
        }
    }
}

impl Schema {
    fn load(descriptors: &[u8]) -> Self {
        let set = FileDescriptorSet::decode(descriptors).expect("the committed descriptor set is valid");
        let mut messages = HashMap::new();
        for file in &set.file {
            for message in &file.message_type {
                let name = format!("{}.{}", file.package(), message.name());
                let description = describe(&name, message);
                messages.insert(name, description);
            }
        }
        let mut schema = Self { messages };
        schema.resolve_embedded();
        schema
    }

    /// Makes the keys of embedded messages known to those that embed them.
    fn resolve_embedded(&mut self) {
        // An embedded message can embed another: two rounds settle chains of the length there is, the third is a check.
        for round in 0..3 {
            let mut found = Vec::new();
            for (name, message) in &self.messages {
                for (index, field) in message.fields.iter().enumerate() {
                    let (Shape::Embedded, Kind::Message(embedded)) = (field.shape, field.kind) else { continue };
                    let keys = self.messages[embedded].by_json.keys();
                    let new = keys.filter(|key| !message.by_json.contains_key(*key));
                    found.extend(new.map(|key| (name.clone(), key.clone(), index)));
                }
            }
            assert!(round < 2 || found.is_empty(), "embedded messages are nested deeper than two levels");
            for (name, key, index) in found {
                self.messages.get_mut(&name).expect("just seen").by_json.insert(key, index);
            }
        }
    }
}

/// FNV-1a: keys are short and trusted.
#[derive(Default)]
struct Fnv(u64);

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        // The map takes the upper bits for its tags.
        self.0 ^ self.0 >> 29 ^ self.0 << 35
    }
}

fn describe(name: &str, message: &DescriptorProto) -> Message {
    let mut fields: Vec<_> = message
        .field
        .iter()
        .map(|field| {
            let entry = message.nested_type.iter().find(|nested| {
                nested.options.as_ref().is_some_and(prost_types::MessageOptions::map_entry)
                    && field.type_name().rsplit('.').next() == Some(nested.name())
            });
            let (source, shape) = match entry {
                Some(entry) => (&entry.field[1], Shape::Map),
                None if field.json_name().is_empty() => (field, Shape::Embedded),
                None if field.label() == Label::Repeated => (field, Shape::List),
                None => (field, Shape::One),
            };
            let kind = match source.r#type() {
                Type::Bool => Kind::Bool,
                Type::Int32 => Kind::Int32,
                Type::Int64 => Kind::Int64,
                Type::Double => Kind::Double,
                Type::String => Kind::String,
                Type::Bytes => Kind::Bytes,
                // The schema lives as long as the program.
                Type::Message => Kind::Message(source.type_name().trim_start_matches('.').to_owned().leak()),
                other => unreachable!("{name}: no Kubernetes message has fields of type {other:?}"),
            };
            Field {
                number: u32::try_from(field.number()).expect("field numbers are positive"),
                json: field.json_name().to_owned(),
                kind,
                shape,
                message: OnceLock::new(),
            }
        })
        .collect();
    fields.sort_by_key(|field| field.number);
    let by_json = fields.iter().enumerate().filter(|(_, field)| !field.json.is_empty());
    Message { form: form(name, &fields), by_json: by_json.map(|(index, f)| (f.json.clone(), index)).collect(), fields }
}

fn form(name: &str, fields: &[Field]) -> Form {
    match name.rsplit("k8s.io.").next().unwrap_or_default() {
        "apimachinery.pkg.apis.meta.v1.Time" => Form::Time,
        "apimachinery.pkg.apis.meta.v1.MicroTime" => Form::MicroTime,
        "apimachinery.pkg.api.resource.Quantity" => Form::Quantity,
        "apimachinery.pkg.util.intstr.IntOrString" => Form::IntOrString,
        "apimachinery.pkg.runtime.RawExtension" | "apimachinery.pkg.apis.meta.v1.FieldsV1" => Form::Json,
        name => match name.rsplit('.').next().unwrap_or_default() {
            "JSON" => Form::Json,
            "JSONSchemaPropsOrBool" => Form::SchemaOrBool,
            "JSONSchemaPropsOrArray" => Form::SchemaOrList,
            "JSONSchemaPropsOrStringArray" => Form::SchemaOrStrings,
            // Go types that are slices: their message wraps the list in a field no struct tag names.
            _ if matches!(fields, [only] if only.json == "items" && only.kind == Kind::String) => Form::Items,
            _ => Form::Plain,
        },
    }
}
