import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerHash } from '../src/signals/index.ts';
import {
  CASE_IGNORABLE,
  CASED,
  DIGIT,
  decodeAt,
  digitValue,
  encodeAt,
  SPACE,
  simpleLowerCase,
  toClass,
  UPPER,
  WORD,
} from '../src/signals/unicode.ts';

/** Counts of Unicode 14.0, as Python 3.11 gives them for `\w` and `\d` of `re` and for `str.lower()`. */
const WORDS = 133_548;
const DIGITS = 660;
const CAPITALS_BEYOND_ASCII = 1407;

const WORD_NOW = /^[\p{L}\p{N}_]$/u;
const DIGIT_NOW = /^\p{Nd}$/u;
const CASED_NOW = /^\p{Cased}$/u;
const IGNORABLE_NOW = /^\p{Case_Ignorable}$/u;

test('the pinned classes are those of Unicode 14, and the engine knows them all', () => {
  let words = 0;
  let digits = 0;
  let capitals = 0;
  let strangers = 0;
  for (let code = 0; code < 0x110000; code += 1) {
    if (code >= 0xd800 && code < 0xe000) continue;
    const kind = toClass(code);
    if (kind === 0) continue;
    const character = String.fromCodePoint(code);
    if ((kind & WORD) !== 0) {
      words += 1;
      assert.match(character, WORD_NOW, code.toString(16));
    }
    if ((kind & DIGIT) !== 0) {
      digits += 1;
      assert.match(character, DIGIT_NOW, code.toString(16));
    }
    if ((kind & UPPER) !== 0) {
      capitals += 1;
      if (code !== 0x130) assert.equal(String.fromCodePoint(simpleLowerCase(code)), character.toLowerCase());
    }
    // Newer versions have changed the case of a handful of letters, U+0295 for one.
    if ((kind & CASED) !== 0 && !CASED_NOW.test(character)) strangers += 1;
    if ((kind & CASE_IGNORABLE) !== 0 && !IGNORABLE_NOW.test(character)) strangers += 1;
  }
  assert.equal(words, WORDS);
  assert.equal(digits, DIGITS);
  assert.equal(capitals, CAPITALS_BEYOND_ASCII);
  assert.ok(strangers < 10, `${strangers}`);
});

test('white space is that of Python, without U+180E, U+200B and U+FEFF', () => {
  const spaces = [];
  for (let code = 0; code < 0x110000; code += 1) if ((toClass(code) & SPACE) !== 0) spaces.push(code);
  const javascript = spaces.filter((code) => /\s/.test(String.fromCodePoint(code)));
  assert.deepEqual(
    spaces.filter((code) => !javascript.includes(code)),
    [0x1c, 0x1d, 0x1e, 0x1f, 0x85],
  );
  assert.equal(spaces.length, 29);
});

test('digits of every script have their value', () => {
  const digits = ['0123456789', '٠١٢٣٤٥٦٧٨٩', '０１２３４５６７８９', '𝟎𝟏𝟐𝟑𝟒𝟓𝟔𝟕𝟖𝟗', '𝟘𝟙𝟚𝟛𝟜𝟝𝟞𝟟𝟠𝟡'];
  for (const run of digits) {
    assert.deepEqual(
      Array.from(run, (digit) => digitValue(digit.codePointAt(0) ?? 0)),
      [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
    );
  }
});

test('every code point survives encoding and decoding', () => {
  const bytes = new Uint8Array(8);
  for (let code = 0; code < 0x110000; code += 1) {
    if (code >= 0xd800 && code < 0xe000) continue;
    const end = encodeAt(bytes, 0, code);
    assert.equal(decodeAt(bytes, 0), code);
    if (code % 997 === 0)
      assert.equal(Buffer.from(bytes.subarray(0, end)).toString(), String.fromCodePoint(code));
  }
});

test('letters that newer versions of Unicode gave a lower case keep their hash', () => {
  // U+1C89 is a capital since Unicode 16, which Node 22 has and Node 18 has not.
  assert.notEqual(answerHash('\u1c89'), answerHash('\u1c8a'));
});
