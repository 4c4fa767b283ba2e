/** Dates with names of months in the texts that a recorded program sent. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findNamedDates } from '../src/golden/file/named-dates.ts';

const AT = Date.UTC(2026, 9, 29, 12);

function datesIn(text: string): string[] {
  return findNamedDates(text, [AT, AT]).map(([from, to]) => text.slice(from, to));
}

test('a date of the run is found in any language, with its weekday and without a year', () => {
  for (const date of ['29. Oktober 2026', '29 de outubro de 2026', 'Thursday, October 29', '10月29日'])
    assert.deepEqual(datesIn(`Today is ${date}`), [date]);
});

test('other days, and words that abbreviate a month somewhere, are no dates of the run', () => {
  for (const text of ['29 out of 30 passed', 'I have 29 now', '12. Oktober 2026', 'October', 'room 29'])
    assert.deepEqual(datesIn(text), []);
});
