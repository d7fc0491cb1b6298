//! The protobuf wire format: tags, varints and length-delimited fields, read without copying.
//!
//! Reading never panics on foreign bytes; a malformed message ends the iteration early.

/// One field of a message as it stands on the wire.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Value<'bytes> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'bytes [u8]),
    Fixed32(u32),
}

/// Iterates over the fields of one message: field number, value and the range of bytes the field takes with its tag.
pub(crate) struct Fields<'bytes> {
    bytes: &'bytes [u8],
    offset: usize,
}

pub(crate) struct Field<'bytes> {
    pub(crate) number: u32,
    pub(crate) value: Value<'bytes>,
    /// The whole field, tag included.
    pub(crate) raw: &'bytes [u8],
    /// Offset of the first byte behind the field.
    pub(crate) end: usize,
}

pub(crate) fn fields(bytes: &[u8]) -> Fields<'_> {
    Fields { bytes, offset: 0 }
}

impl<'bytes> Iterator for Fields<'bytes> {
    type Item = Field<'bytes>;

    fn next(&mut self) -> Option<Field<'bytes>> {
        let start = self.offset;
        let mut rest = self.bytes.get(start..)?;
        let tag = take_varint(&mut rest)?;
        let value = match tag & 7 {
            0 => Value::Varint(take_varint(&mut rest)?),
            1 => {
                let (head, tail) = rest.split_first_chunk::<8>()?;
                rest = tail;
                Value::Fixed64(u64::from_le_bytes(*head))
            }
            2 => {
                let length = usize::try_from(take_varint(&mut rest)?).ok()?;
                let (head, tail) = rest.split_at_checked(length)?;
                rest = tail;
                Value::Bytes(head)
            }
            5 => {
                let (head, tail) = rest.split_first_chunk::<4>()?;
                rest = tail;
                Value::Fixed32(u32::from_le_bytes(*head))
            }
            _ => return None,
        };
        self.offset = self.bytes.len() - rest.len();
        let number = u32::try_from(tag >> 3).ok()?;
        Some(Field { number, value, raw: &self.bytes[start..self.offset], end: self.offset })
    }
}

fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for (index, byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            *bytes = &bytes[index + 1..];
            return Some(value);
        }
    }
    None
}

/// The bytes of the first length-delimited field with this number.
pub(crate) fn bytes_field(message: &[u8], number: u32) -> Option<&[u8]> {
    fields(message).find_map(|field| match field.value {
        Value::Bytes(bytes) if field.number == number => Some(bytes),
        _ => None,
    })
}

/// The text of the first string field with this number; empty when it is absent or not UTF-8.
pub(crate) fn text_field(message: &[u8], number: u32) -> &str {
    bytes_field(message, number).and_then(|bytes| str::from_utf8(bytes).ok()).unwrap_or_default()
}

pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Bytes a varint takes.
pub(crate) fn varint_len(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

pub(crate) fn put_tag(out: &mut Vec<u8>, number: u32, wire_type: u32) {
    put_varint(out, u64::from(number << 3 | wire_type));
}

pub(crate) fn put_uint(out: &mut Vec<u8>, number: u32, value: u64) {
    put_tag(out, number, 0);
    put_varint(out, value);
}

pub(crate) fn put_bytes(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    put_tag(out, number, 2);
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Writes a length-delimited field whose content `write` appends; the length is filled in afterwards.
pub(crate) fn put_nested<E>(
    out: &mut Vec<u8>,
    number: u32,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
) -> Result<(), E> {
    put_tag(out, number, 2);
    let at = out.len();
    // One byte is room enough for most lengths; longer ones move the content once.
    out.push(0);
    write(out)?;
    let length = (out.len() - at - 1) as u64;
    if length < 0x80 {
        out[at] = length as u8;
    } else {
        let mut prefix = Vec::with_capacity(5);
        put_varint(&mut prefix, length);
        out.splice(at..=at, prefix);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_take_the_predicted_room_and_come_back() {
        for value in [0, 1, 127, 128, 300, 16_383, 16_384, u64::from(u32::MAX), u64::MAX] {
            let mut out = Vec::new();
            put_varint(&mut out, value);
            assert_eq!(out.len(), varint_len(value), "{value}");
            assert_eq!(take_varint(&mut out.as_slice()), Some(value));
        }
    }

    #[test]
    fn long_nested_content_gets_a_long_length() {
        let mut out = Vec::new();
        put_nested(&mut out, 1, |out| {
            put_bytes(out, 2, &[7; 300]);
            Ok::<_, ()>(())
        })
        .unwrap();
        assert_eq!(bytes_field(bytes_field(&out, 1).unwrap(), 2).unwrap(), [7; 300]);
    }

    #[test]
    fn broken_bytes_end_the_iteration() {
        for bytes in [&[0x0a, 0x05, 1][..], &[0x0b], &[0x80; 11], &[0x09, 1]] {
            assert_eq!(fields(bytes).count(), 0, "{bytes:?}");
        }
    }
}
