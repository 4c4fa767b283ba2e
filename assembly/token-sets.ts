import { allocate, CANDIDATES, SEEDS, WAITING, WAITING_BYTES } from './memory';

/**
 * The token sets of `src/signals/token-sets.ts`.
 *
 * A token is a longest run of ASCII letters and digits, in any case. Every token of every text is looked up once in one
 * hash table with linear probing. A slot is 4 bytes: the address of an entry, and in the bits that its alignment leaves
 * free some of its hash. Entries stand in the order in which they came. So the table stays in the processor's cache, and
 * a new token, the usual one of texts full of numbers and identifiers, touches no other memory but the end of the list.
 *
 * An entry is 32 bytes: what is equal for equal tokens (16), then the flags (4) and the hash (8). A token of up to 16
 * bytes stands there itself, lower-cased and filled up with zeros; of a longer one its hash, its place in memory and its
 * length. Equal always means the same bytes: the hash only says where to look.
 */

/** Looks for phrases in a token new in the set of the answer that may hold one; not 0: look at every occurrence too. */
declare function inspect(index: i32, size: i32): i32;
/** Looks at a further occurrence of such a token. */
declare function occurs(index: i32): void;

const SLOT: i32 = 4;
const ENTRY: usize = 32;
/** The bits of a slot that are of the hash, and which of the hash's they are: others than the number of the slot. */
const TAG: i32 = 31;
const TAG_SHIFT: i64 = 36;
/** Entries are allocated so many at a time. */
const ENTRIES: usize = 512;
const FLAGS: i32 = 16;
const HASH: i32 = 24;
const LONG_PLACE: i32 = 8;
const LONG_SIZE: i32 = 12;
const SHORT_BYTES: i32 = 16;
/** A waiting token: what is equal for equal tokens (16), its place in the text, its size, its hash. */
const WAITING_START: i32 = 16;
const WAITING_SIZE: i32 = 20;
/** Tokens that can end in 64 bytes. */
const MOST_IN_BLOCK: usize = 32;

/** The set of the answer, whose tokens are inspected; others are 2 and 4. */
const ANSWER: i32 = 1;
/** Flag of an entry all of whose occurrences are looked at. */
const WATCHED: i32 = 8;
/** Flag of an entry of more than 16 bytes. */
const LONG: i32 = 16;

let table: usize = 0;
let capacity: i32 = 0;
/** How far a hash is shifted to be the number of a slot. */
let shift: i64 = 0;
let entries: i32 = 0;
/** Where the next entry goes, and the end of the memory for entries. */
let nextEntry: usize = 0;
let lastEntry: usize = 0;
let added: i32 = 0;
let shared: i32 = 0;

/** Begins with empty sets in a new table of so many slots, a power of two. */
export function reset(slots: i32): void {
  entries = 0;
  nextEntry = 0;
  lastEntry = 0;
  makeTable(slots);
}

function makeTable(slots: i32): void {
  const size = <usize>slots * SLOT;
  table = allocate(size);
  memory.fill(table, 0, size);
  capacity = slots;
  shift = clz<i32>(slots) + 33;
}

/** How many tokens the last `add` put into its set. */
export function addedTokens(): i32 {
  return added;
}

/** How many of them are in the set of the answer. */
export function sharedTokens(): i32 {
  return shared;
}

/** Adds the tokens of a text to a set. The text must stay where it is as long as the sets are used. */
export function add(text: usize, length: i32, set: i32): void {
  let start = 0;
  let inToken: u64 = 0;
  added = 0;
  shared = 0;
  let waiting = WAITING;
  for (let base = 0; base <= length; base += 64) {
    const members = membersOf(text + base);
    const before = (members << 1) | inToken;
    let starts = members & ~before;
    let ends = before & ~members;
    if (inToken === 0) {
      start = base + <i32>ctz(starts);
      starts &= starts - 1;
    }
    inToken = members >>> 63;
    while (ends !== 0) {
      const size = base + <i32>ctz(ends) - start;
      ends &= ends - 1;
      if (size <= SHORT_BYTES) {
        wait(waiting, text, start, size);
        waiting += ENTRY;
      } else {
        const before = added;
        const entry = addLong(text + start, size, set);
        if (set === ANSWER) look(entry, added !== before, text, start, size);
      }
      start = base + <i32>ctz(starts);
      starts &= starts - 1;
    }
    if (waiting > WAITING + WAITING_BYTES - MOST_IN_BLOCK * ENTRY) {
      addWaiting(waiting, text, set);
      waiting = WAITING;
    }
  }
  addWaiting(waiting, text, set);
}

/**
 * Keeps a token of up to 16 bytes until there are many. Whether a token is known cannot be predicted, and a processor that
 * guesses wrong begins anew with all that follows: hashes that are there by then need not be computed once more.
 */
function wait(waiting: usize, text: usize, start: i32, size: i32): void {
  const key = v128.and(fold(v128.load(text + start)), first(size));
  v128.store(waiting, key);
  store<i64>(waiting, hash(i64x2.extract_lane(key, 0), i64x2.extract_lane(key, 1)), HASH);
  store<i32>(waiting, start, WAITING_START);
  store<i32>(waiting, size, WAITING_SIZE);
}

function addWaiting(end: usize, text: usize, set: i32): void {
  for (let at = WAITING; at < end; at += ENTRY) {
    const before = added;
    const entry = addShort(v128.load(at), load<i64>(at, HASH), set);
    if (set === ANSWER)
      look(entry, added !== before, text, load<i32>(at, WAITING_START), load<i32>(at, WAITING_SIZE));
  }
}

/** @returns the entry. */
function addShort(key: v128, digest: i64, set: i32): usize {
  const tag = tagOf(digest);
  let slot = slotOf(digest);
  while (true) {
    const held = load<i32>(table + slot);
    if (held === 0) {
      const entry = enter(slot, digest);
      v128.store(entry, key);
      join(entry, 0, set);
      return entry;
    }
    if ((held & TAG) === tag) {
      const entry = <usize>(held & ~TAG);
      const flags = load<i32>(entry, FLAGS);
      if (!v128.any_true(v128.xor(v128.load(entry), key)) && (flags & LONG) === 0) {
        if ((flags & set) === 0) join(entry, flags, set);
        return entry;
      }
    }
    slot = nextSlot(slot);
  }
}

/** @returns the entry. */
function addLong(token: usize, size: i32, set: i32): usize {
  let digest: i64 = size;
  for (let i = 0; i < size; i += 16) {
    const part = v128.and(fold(v128.load(token + i)), first(size - i));
    digest = hash(digest ^ i64x2.extract_lane(part, 0), i64x2.extract_lane(part, 1));
  }
  const tag = tagOf(digest);
  let slot = slotOf(digest);
  while (true) {
    const held = load<i32>(table + slot);
    if (held === 0) {
      const entry = enter(slot, digest);
      store<i64>(entry, digest);
      store<i32>(entry, <i32>token, LONG_PLACE);
      store<i32>(entry, size, LONG_SIZE);
      join(entry, LONG, set);
      return entry;
    }
    if ((held & TAG) === tag) {
      const entry = <usize>(held & ~TAG);
      const flags = load<i32>(entry, FLAGS);
      if ((flags & LONG) !== 0 && load<i64>(entry) === digest && isLong(entry, token, size)) {
        if ((flags & set) === 0) join(entry, flags, set);
        return entry;
      }
    }
    slot = nextSlot(slot);
  }
}

/** Whether an entry's long token has the same bytes. */
function isLong(entry: usize, token: usize, size: i32): bool {
  if (load<i32>(entry, LONG_SIZE) !== size) return false;
  const known = <usize>load<i32>(entry, LONG_PLACE);
  for (let i = 0; i < size; i += 16) {
    const differs = v128.xor(fold(v128.load(known + i)), fold(v128.load(token + i)));
    if (v128.any_true(v128.and(differs, first(size - i)))) return false;
  }
  return true;
}

/** Makes an entry for a free slot. @returns its address. */
function enter(slot: i32, digest: i64): usize {
  if (nextEntry === lastEntry) {
    // Half an entry more, since the allocator aligns to 16 bytes only.
    nextEntry = (allocate(ENTRIES * ENTRY + 16) + 16) & ~(ENTRY - 1);
    lastEntry = nextEntry + ENTRIES * ENTRY;
  }
  const entry = nextEntry;
  nextEntry += ENTRY;
  store<i64>(entry, digest, HASH);
  store<i32>(table + slot, <i32>entry | tagOf(digest));
  entries += 1;
  if (entries * 2 > capacity) grow();
  return entry;
}

/** Puts an entry into a set. */
function join(entry: usize, flags: i32, set: i32): void {
  added += 1;
  if ((flags & ANSWER) !== 0) shared += 1;
  store<i32>(entry, flags | set, FLAGS);
}

/** Looks for phrases in a token of the answer: in a new one, and in each occurrence of one that may end a pair. */
function look(entry: usize, isNew: bool, text: usize, start: i32, size: i32): void {
  const flags = load<i32>(entry, FLAGS);
  if (!isNew) {
    if ((flags & WATCHED) !== 0) occurs(start);
  } else if (mayHoldPhrase(text + start, size) && inspect(start, size) !== 0) {
    store<i32>(entry, flags | WATCHED, FLAGS);
  }
}

/** Whether some four bytes of a token are the first of a phrase's word. */
function mayHoldPhrase(token: usize, size: i32): bool {
  for (let i = 0; i <= size - 4; i += 1) {
    const letters = load<u32>(token + i);
    if (load<u32>(CANDIDATES + (((letters * 0x85ebca77) >>> 24) << 2)) === letters) return true;
  }
  return false;
}

function grow(): void {
  const old = table;
  const end = old + <usize>capacity * SLOT;
  makeTable(capacity * 2);
  for (let from = old; from < end; from += SLOT) {
    const held = load<i32>(from);
    if (held === 0) continue;
    let slot = slotOf(load<i64>(<usize>(held & ~TAG), HASH));
    while (load<i32>(table + slot) !== 0) slot = nextSlot(slot);
    store<i32>(table + slot, held);
  }
}

/** A bit for each of 64 bytes, set where it is a letter or digit. */
function membersOf(address: usize): u64 {
  const first = <u64>sixteenMembers(v128.load(address));
  const second = <u64>sixteenMembers(v128.load(address, 16));
  const third = <u64>sixteenMembers(v128.load(address, 32));
  const fourth = <u64>sixteenMembers(v128.load(address, 48));
  return first | (second << 16) | (third << 32) | (fourth << 48);
}

function sixteenMembers(bytes: v128): i32 {
  const letters = i8x16.lt_u(i8x16.sub(fold(bytes), i8x16.splat(0x61)), i8x16.splat(26));
  const digits = i8x16.lt_u(i8x16.sub(bytes, i8x16.splat(0x30)), i8x16.splat(10));
  return i8x16.bitmask(v128.or(letters, digits));
}

/** Turns letters to lower case; digits have the bit already. */
function fold(bytes: v128): v128 {
  return v128.or(bytes, i8x16.splat(0x20));
}

/** A mask of the first `size` bytes, of all 16 from 16 on. */
function first(size: i32): v128 {
  const places = i8x16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  return i8x16.lt_u(places, i8x16.splat(<i8>min(size, 16)));
}

/** Depends on two numbers that are secret, so that nobody can make up tokens that all fall into one slot. */
function hash(low: i64, high: i64): i64 {
  const mixed = (low ^ load<i64>(SEEDS)) * load<i64>(SEEDS, 8);
  return (mixed ^ (mixed >>> 29) ^ high) * load<i64>(SEEDS, 8);
}

/** The high bits of a hash are the mixed ones. */
function slotOf(hash: i64): i32 {
  return <i32>(hash >>> shift) * SLOT;
}

function tagOf(hash: i64): i32 {
  return <i32>(hash >>> TAG_SHIFT) & TAG;
}

function nextSlot(slot: i32): i32 {
  return (slot + SLOT) & (capacity * SLOT - 1);
}
