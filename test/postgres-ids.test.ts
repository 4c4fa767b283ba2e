import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import {
  canonicalUuid,
  spanIdToUuid,
  traceIdToUuid,
  uuidToSpanId,
  uuidToTraceId,
} from '../src/postgres/index.ts';

test('a trace id is a UUID of the same 16 bytes', () => {
  assert.equal(traceIdToUuid('4bf92f3577b34da6a3ce929d0e0e4736'), '4bf92f35-77b3-4da6-a3ce-929d0e0e4736');
  assert.equal(uuidToTraceId('4bf92f35-77b3-4da6-a3ce-929d0e0e4736'), '4bf92f3577b34da6a3ce929d0e0e4736');
});

test('a span id is in the last 8 bytes of a UUID', () => {
  assert.equal(spanIdToUuid('b7ad6b7169203331'), '00000000-0000-0000-b7ad-6b7169203331');
  assert.equal(uuidToSpanId('00000000-0000-0000-b7ad-6b7169203331'), 'b7ad6b7169203331');
});

test('random ids survive both ways', () => {
  for (let i = 0; i < 1000; i += 1) {
    const traceId = randomBytes(16).toString('hex');
    const spanId = randomBytes(8).toString('hex');
    assert.equal(uuidToTraceId(traceIdToUuid(traceId) ?? ''), traceId);
    assert.equal(uuidToSpanId(spanIdToUuid(spanId) ?? ''), spanId);
  }
});

test('upper case is read and lower case is written', () => {
  assert.equal(traceIdToUuid('4BF92F3577B34DA6A3CE929D0E0E4736'), '4bf92f35-77b3-4da6-a3ce-929d0e0e4736');
  assert.equal(uuidToSpanId('00000000-0000-0000-B7AD-6B7169203331'), 'b7ad6b7169203331');
});

test('ids that are not valid give undefined', () => {
  const notHex = 'g'.repeat(32);
  for (const id of [
    '',
    '0'.repeat(32),
    notHex,
    '4bf92f3577b34da6a3ce929d0e0e473',
    '4bf92f35-77b3-4da6-a3ce-929d0e0e4736',
  ]) {
    assert.equal(traceIdToUuid(id), undefined, `'${id}'`);
  }
  for (const id of [
    '',
    '0'.repeat(16),
    'b7ad6b716920333',
    'b7ad6b71692033311',
    'b7ad6b716920333g',
    'b7ad6b716920333\n',
  ]) {
    assert.equal(spanIdToUuid(id), undefined, `'${id}'`);
  }
  assert.equal(uuidToTraceId('00000000-0000-0000-0000-000000000000'), undefined);
  assert.equal(uuidToTraceId('4bf92f3577b34da6a3ce929d0e0e4736'), undefined);
  assert.equal(uuidToSpanId('4bf92f35-77b3-4da6-a3ce-929d0e0e4736'), undefined, 'more than 8 bytes');
  assert.equal(uuidToSpanId('00000000-0000-0000-0000-000000000000'), undefined);
});

test('a uuid column takes a UUID or the hex of a trace id', () => {
  const uuid = '4bf92f35-77b3-4da6-a3ce-929d0e0e4736';
  assert.equal(canonicalUuid(uuid.toUpperCase()), uuid);
  assert.equal(canonicalUuid('4bf92f3577b34da6a3ce929d0e0e4736'), uuid);
  assert.equal(canonicalUuid(`{${uuid}}`), undefined);
  assert.equal(canonicalUuid('run-7'), undefined);
});
