//! `metadata.managedFields` as server-side apply would keep them: derived from the object itself.
//!
//! They are about a third of a real pod's bytes, so a sample without them would flatter every reader.

use serde_json::{Map, Value, json};

/// One entry: who set which fields, and when.
pub(super) fn entry(manager: &str, subresource: &str, api_version: &str, time: &str, fields: Value) -> Value {
    let mut entry = json!({
        "manager": manager,
        "operation": "Update",
        "apiVersion": api_version,
        "time": time,
        "fieldsType": "FieldsV1",
    });
    entry["fieldsV1"] = fields;
    if !subresource.is_empty() {
        entry["subresource"] = subresource.into();
    }
    entry
}

/// The set of fields that a value has.
pub(super) fn fields(value: &Value) -> Value {
    let mut set = Map::new();
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                set.insert(format!("f:{key}"), fields(value));
            }
        }
        Value::Array(items) => {
            for item in items {
                // Lists with keys are sets of fields; others belong to their owner whole.
                let Some(key) =
                    ["name", "type", "ip", "uid", "mountPath"].into_iter().find(|key| item[key].is_string())
                else {
                    return json!({});
                };
                let mut inner = fields(item);
                inner["."] = json!({});
                set.insert(format!("k:{}", json!({key: item[key]})), inner);
            }
        }
        _ => {}
    }
    Value::Object(set)
}
