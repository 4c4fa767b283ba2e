import { type Budget, MAX_VALUE_DEPTH } from './budget.ts';
import { doubleOf, int64Of, listOf, objectOf, stringOf, wrong } from './json-fields.ts';
import { putAttribute, type ReceivedAttributes } from './received-span.ts';

/** Reads a list of `KeyValue` into a record; of a key that comes twice the last value holds. */
export function readAttributes<T extends object>(list: unknown, into: T, budget: Budget, depth = 0): T {
  for (const item of listOf(list, 'attributes')) {
    budget.takeItem();
    const { key, value } = objectOf(item, 'attributes[]');
    putAttribute(into, stringOf(key, 'key'), readAnyValue(value, budget, depth));
  }
  return into;
}

/** Reads one `AnyValue`; an empty one is null. */
function readAnyValue(json: unknown, budget: Budget, depth: number): unknown {
  if (depth >= MAX_VALUE_DEPTH) return null;
  const any = objectOf(json, 'value');
  // Asked for one by one: an AnyValue has one of them, and unknown ones are passed over.
  if (isThere(any.stringValue)) return stringOf(any.stringValue, 'stringValue');
  if (isThere(any.intValue)) return int64Of(any.intValue, 'intValue');
  if (isThere(any.boolValue)) return boolOf(any.boolValue);
  if (isThere(any.doubleValue)) return doubleOf(any.doubleValue, 'doubleValue');
  if (isThere(any.arrayValue)) {
    return listOf(objectOf(any.arrayValue, 'arrayValue').values, 'arrayValue.values').map((item) => {
      budget.takeItem();
      return readAnyValue(item, budget, depth + 1);
    });
  }
  if (isThere(any.kvlistValue)) {
    const values: ReceivedAttributes = {};
    return readAttributes(objectOf(any.kvlistValue, 'kvlistValue').values, values, budget, depth + 1);
  }
  if (isThere(any.bytesValue)) {
    return new Uint8Array(Buffer.from(stringOf(any.bytesValue, 'bytesValue'), 'base64'));
  }
  return null;
}

function isThere(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function boolOf(value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw wrong('boolValue', 'true or false', value);
}
