//! A walk over the description of a message that fills it with values.
//!
//! What the walk knows about a field is its type and its path; [`pools`] says what either means.

use fastrand::Rng;
use serde_json::{Map, Value, json};

use super::{pools, values};
use crate::{
    codec::schema::{Field, Form, Kind, Message, Shape},
    resources::Resource,
};

/// Values below one top-level field, so that no object grows without end.
const BUDGET: usize = 260;

/// Depth from which fields get rarer and lists shorter.
const DEEP: usize = 3;

/// The filling of one object.
pub(super) struct Walk {
    resource: &'static Resource,
    /// Share of optional fields that are present, from 0 to 1.
    density: f64,
    random: Rng,
    /// Values that may still be made below the current top-level field.
    budget: usize,
    /// Keys from the object to the current field.
    path: Vec<&'static str>,
}

impl Walk {
    pub(super) fn new(resource: &'static Resource, density: f64, random: Rng) -> Self {
        Self { resource, density, random, budget: BUDGET, path: Vec::new() }
    }

    pub(super) fn random(&mut self) -> &mut Rng {
        &mut self.random
    }

    /// Whether something that happens to a share of all objects happens to this one.
    pub(super) fn chance(&mut self, share: f64) -> bool {
        self.random.f64() < share
    }

    /// The whole object, without its identity.
    pub(super) fn object(&mut self) -> Value {
        self.message(self.resource.message())
    }

    /// A value for the field at a dotted path; `None` if the kind has no such field.
    pub(super) fn at(&mut self, path: &str) -> Option<Value> {
        let mut message = self.resource.message();
        let (mut keys, mut last) = (Vec::new(), None);
        for key in path.split('.') {
            let mut field = message.by_json(key)?.1;
            while field.shape == Shape::Embedded {
                field = field.message()?.by_json(key)?.1;
            }
            keys.push(field.json.as_str());
            last = Some(field);
            message = field.message().unwrap_or(message);
        }
        let field = last?;
        let outer = std::mem::replace(&mut self.path, keys);
        self.budget = BUDGET;
        let value = self.one(field);
        self.path = outer;
        Some(value)
    }

    fn message(&mut self, message: &'static Message) -> Value {
        match message.form {
            Form::Plain => {
                let mut object = Map::new();
                self.fields(message, &mut object);
                Value::Object(object)
            }
            Form::Time | Form::MicroTime => json!(values::time(&mut self.random)),
            Form::Quantity => json!(values::quantity(&mut self.random)),
            Form::IntOrString => values::int_or_string(&mut self.random),
            Form::Json => json!({"a": [1, {"b": "c"}]}),
            Form::Items | Form::SchemaOrStrings => {
                let length = self.random.usize(..=3);
                json!((0..length).map(|_| self.text()).collect::<Vec<String>>())
            }
            Form::SchemaOrBool => json!(self.random.bool()),
            Form::SchemaOrList => json!({}),
        }
    }

    fn fields(&mut self, message: &'static Message, object: &mut Map<String, Value>) {
        for field in &message.fields {
            if field.shape == Shape::Embedded {
                let Some(embedded) = field.message() else { continue };
                if is_union(embedded) {
                    self.union(embedded, object);
                } else {
                    self.fields(embedded, object);
                }
                continue;
            }
            self.path.push(&field.json);
            if self.path.len() == 1 {
                self.budget = BUDGET;
            }
            if self.is_present(field) {
                let value = self.field(field);
                object.insert(field.json.clone(), value);
            }
            self.path.pop();
        }
    }

    /// Alternatives of which an object should have one: mostly one, sometimes none or several.
    fn union(&mut self, message: &'static Message, object: &mut Map<String, Value>) {
        if self.density == 0.0 || self.budget == 0 {
            return;
        }
        let is_read = |field: &&Field| pools::is_read(self.resource.kind, &self.path, &field.json);
        let all: Vec<&Field> = message.fields.iter().collect();
        let read: Vec<&Field> = message.fields.iter().filter(is_read).collect();
        let count = values::pick(&mut self.random, &[0, 1, 1, 1, 1, 1, 1, 1, 1, 3]);
        for _ in 0..count {
            let choices = if !read.is_empty() && self.random.u8(..4) > 0 { &read } else { &all };
            let field = values::pick(&mut self.random, choices);
            self.path.push(&field.json);
            let value = self.field(field);
            object.insert(field.json.clone(), value);
            self.path.pop();
        }
    }

    fn is_present(&mut self, field: &'static Field) -> bool {
        let share = if self.density == 0.0 || self.budget == 0 {
            0.0
        } else if pools::is_unread(&self.path) {
            self.density * 0.08
        } else if pools::is_read(self.resource.kind, &self.path, "") {
            self.density.mul_add(0.5, 0.45)
        } else {
            let too_deep = self.path.len().saturating_sub(DEEP);
            self.density * 0.5_f64.powi(i32::try_from(too_deep).unwrap_or(i32::MAX))
        };
        // The object's own identity, spec and status: without them there is nothing to vary.
        let share = if self.path.len() == 1 && self.density > 0.0 && field.message().is_some() { 0.95 } else { share };
        self.chance(share)
    }

    fn field(&mut self, field: &'static Field) -> Value {
        match field.shape {
            Shape::One | Shape::Embedded => self.one(field),
            Shape::List => {
                let length = self.length();
                (0..length).map(|_| self.one(field)).collect()
            }
            Shape::Map => {
                let length = self.length() + usize::from(pools::is_copied(&self.path)) * 2;
                let keys = pools::keys(self.resource.kind, &self.path, field.message());
                let mut entries = Map::new();
                for _ in 0..length {
                    let at = self.random.usize(..keys.len());
                    // Keys that collide stand side by side.
                    let together = usize::from(self.random.u8(..4) == 0);
                    for key in keys.iter().skip(at).take(1 + together) {
                        entries.insert((*key).to_owned(), self.one(field));
                    }
                }
                entries.into()
            }
        }
    }

    /// From 0 to 4, fewer where nobody looks.
    fn length(&mut self) -> usize {
        let read = pools::is_read(self.resource.kind, &self.path, "") && !pools::is_unread(&self.path);
        self.random.usize(..=if read || self.path.len() <= DEEP { 4 } else { 2 })
    }

    fn one(&mut self, field: &'static Field) -> Value {
        self.budget = self.budget.saturating_sub(1);
        match field.kind {
            Kind::Bool => json!(self.random.bool()),
            Kind::Int32 => json!(values::int32(&mut self.random)),
            Kind::Int64 => json!(values::int64(&mut self.random)),
            Kind::Double => json!(values::pick(&mut self.random, &[0.0, 1.5, -2.25, 1e10])),
            Kind::String => json!(self.text()),
            Kind::Bytes => json!(values::bytes(&mut self.random)),
            Kind::Message(_) => self.message(field.message().expect("the kind says it is a message")),
        }
    }

    fn text(&mut self) -> String {
        match pools::words(self.resource.kind, &self.path) {
            Some(words) if self.random.u8(..20) > 0 => values::pick(&mut self.random, words).to_owned(),
            _ => values::text(&mut self.random),
        }
    }
}

/// Whether an embedded message is a choice: all its fields are messages.
fn is_union(message: &Message) -> bool {
    message.fields.len() > 1 && message.fields.iter().all(|field| matches!(field.kind, Kind::Message(_)))
}
