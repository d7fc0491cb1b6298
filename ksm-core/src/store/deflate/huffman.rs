//! Prefix codes from frequencies.

/// Longest code of literals, lengths and distances.
pub(super) const LONGEST_CODE: usize = 15;

/// Gives each symbol that occurs a length of at most `longest` bits so that codes of these lengths are a complete prefix
/// code, as short over all as that allows, or a little longer where the limit bites. At least two symbols get one, as
/// some readers ask for. `frequencies` are below 2²², and there are at most 1 << `longest` symbols.
///
/// Source: A. Moffat, J. Katajainen, "In-Place Calculation of Minimum-Redundancy Codes" (1995).
pub(super) fn code_lengths(frequencies: &[u32], longest: usize, lengths: &mut [u8]) {
    const SYMBOL_BITS: u32 = 10;
    lengths.fill(0);
    let mut keys = [0; 288];
    let mut used = 0;
    for (symbol, &frequency) in frequencies.iter().enumerate() {
        if frequency > 0 {
            keys[used] = frequency << SYMBOL_BITS | symbol as u32;
            used += 1;
        }
    }
    for (symbol, &frequency) in frequencies.iter().enumerate().take(2) {
        if used < 2 && frequency == 0 {
            keys[used] = 1 << SYMBOL_BITS | symbol as u32;
            used += 1;
        }
    }
    let keys = &mut keys[..used];
    keys.sort_unstable();
    let mut work = [0; 288];
    let work = &mut work[..used];
    for (work, key) in work.iter_mut().zip(&*keys) {
        *work = key >> SYMBOL_BITS;
    }
    depths(work);

    // How many codes of each length, those that are too long cut down to the limit.
    let mut counts = [0_u32; LONGEST_CODE + 1];
    for &depth in &*work {
        counts[(depth as usize).min(longest)] += 1;
    }
    // Cutting took more of the code space than there is: give it back by making the longest codes below the limit longer.
    let space = |counts: &[u32]| (1..=longest).map(|bits| counts[bits] << (longest - bits)).sum::<u32>();
    let mut taken = space(&counts);
    while taken > 1 << longest {
        let bits = (1..longest).rev().find(|&bits| counts[bits] > 0).expect("not all codes are as long as can be");
        counts[bits] -= 1;
        counts[bits + 1] += 2;
        counts[longest] -= 1;
        taken -= 1;
    }
    // The rarest first, which are the longest.
    let mut keys = keys.iter();
    for bits in (1..=longest).rev() {
        for key in keys.by_ref().take(counts[bits] as usize) {
            lengths[(key & ((1 << SYMBOL_BITS) - 1)) as usize] = bits as u8;
        }
    }
}

/// Turns at least two frequencies in rising order into depths of leaves in a tree of least weight.
fn depths(work: &mut [u32]) {
    let count = work.len();
    // Pair up: inner nodes take the places of leaves that are used up, and then point at their parents.
    let (mut leaf, mut root) = (0, 0);
    for next in 0..count - 1 {
        let mut weight = 0;
        for _ in 0..2 {
            if leaf >= count || root < next && work[root] < work[leaf] {
                weight += work[root];
                work[root] = next as u32;
                root += 1;
            } else {
                weight += work[leaf];
                leaf += 1;
            }
        }
        work[next] = weight;
    }
    // Depths of inner nodes.
    work[count - 2] = 0;
    for next in (0..count - 2).rev() {
        work[next] = work[work[next] as usize] + 1;
    }
    // Depths of leaves.
    let (mut available, mut depth) = (1, 0);
    let (mut root, mut next) = (count as isize - 2, count as isize - 1);
    while available > 0 {
        let mut used = 0;
        while root >= 0 && work[root as usize] == depth {
            used += 1;
            root -= 1;
        }
        while available > used {
            work[next as usize] = depth;
            next -= 1;
            available -= 1;
        }
        available = 2 * used;
        depth += 1;
    }
}

/// The canonical code of each length, with its bits in the order deflate sends them.
pub(super) fn codes(lengths: &[u8], codes: &mut [u16]) {
    let mut next = [0_u16; LONGEST_CODE + 2];
    let mut counts = [0_u16; LONGEST_CODE + 1];
    lengths.iter().for_each(|&length| counts[usize::from(length)] += 1);
    counts[0] = 0;
    for bits in 1..=LONGEST_CODE {
        next[bits + 1] = (next[bits] + counts[bits]) << 1;
    }
    for (&length, code) in lengths.iter().zip(codes) {
        if length > 0 {
            let next = &mut next[usize::from(length)];
            *code = next.reverse_bits() >> (16 - u32::from(length));
            *next = next.wrapping_add(1);
        }
    }
}
