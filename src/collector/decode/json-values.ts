import { type DecodeBudget, MAX_VALUE_DEPTH } from './budget.ts';
import { expectDouble, expectInt64, expectList, expectObject, expectString, wrong } from './json-fields.ts';
import { putAttribute, type ReceivedAttributes } from './received-span.ts';

/** Reads a list of `KeyValue` into a record; of a key that comes twice the last value holds. */
export function readAttributes<T extends object>(list: unknown, into: T, budget: DecodeBudget, depth = 0): T {
  for (const item of expectList(list, 'attributes')) {
    budget.takeItem();
    const { key, value } = expectObject(item, 'attributes[]');
    putAttribute(into, expectString(key, 'key'), readAnyValue(value, budget, depth));
  }
  return into;
}

/** Reads one `AnyValue`; an empty one is null. */
function readAnyValue(json: unknown, budget: DecodeBudget, depth: number): unknown {
  if (depth >= MAX_VALUE_DEPTH) return null;
  const any = expectObject(json, 'value');
  // Asked for one by one: an AnyValue has one of them, and unknown ones are passed over.
  if (isThere(any.stringValue)) return expectString(any.stringValue, 'stringValue');
  if (isThere(any.intValue)) return expectInt64(any.intValue, 'intValue');
  if (isThere(any.boolValue)) return boolOf(any.boolValue);
  if (isThere(any.doubleValue)) return expectDouble(any.doubleValue, 'doubleValue');
  if (isThere(any.arrayValue)) {
    return expectList(expectObject(any.arrayValue, 'arrayValue').values, 'arrayValue.values').map((item) => {
      budget.takeItem();
      return readAnyValue(item, budget, depth + 1);
    });
  }
  if (isThere(any.kvlistValue)) {
    const values: ReceivedAttributes = {};
    return readAttributes(expectObject(any.kvlistValue, 'kvlistValue').values, values, budget, depth + 1);
  }
  if (isThere(any.bytesValue)) {
    return new Uint8Array(Buffer.from(expectString(any.bytesValue, 'bytesValue'), 'base64'));
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
