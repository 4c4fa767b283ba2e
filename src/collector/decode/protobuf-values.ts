import { type DecodeBudget, MAX_VALUE_DEPTH } from './budget.ts';
import { putAttribute, type ReceivedAttributes } from './received-span.ts';
import { bytesTag, fixed64Tag, varintTag, type WireReader } from './wire-reader.ts';

// opentelemetry/proto/common/v1/common.proto
const KEY = bytesTag(1);
const VALUE = bytesTag(2);
const STRING = bytesTag(1);
const BOOL = varintTag(2);
const INT = varintTag(3);
const DOUBLE = fixed64Tag(4);
const ARRAY = bytesTag(5);
const KEY_VALUE_LIST = bytesTag(6);
const BYTES = bytesTag(7);
/** `values` of `ArrayValue` and of `KeyValueList`. */
const VALUES = bytesTag(1);

/** Reads one `KeyValue` into a record; the last value of a duplicate key wins. */
export function readAttribute(
  reader: WireReader,
  end: number,
  into: object,
  budget: DecodeBudget,
  depth = 0,
): void {
  const to = reader.length(end);
  budget.takeItem();
  let key = '';
  let value: unknown = null;
  while (reader.at < to) {
    const tag = reader.tag(to);
    if (tag === KEY) key = reader.string(to);
    else if (tag === VALUE) value = readAnyValue(reader, to, budget, depth);
    else reader.skip(tag, to);
  }
  putAttribute(into, key, value);
}

/** Reads one `AnyValue`; an empty one is null. */
function readAnyValue(reader: WireReader, end: number, budget: DecodeBudget, depth: number): unknown {
  const to = reader.length(end);
  let value: unknown = null;
  if (depth >= MAX_VALUE_DEPTH) {
    reader.at = to;
    return value;
  }
  while (reader.at < to) {
    const tag = reader.tag(to);
    if (tag === STRING) value = reader.string(to);
    else if (tag === BOOL) value = reader.int64(to) !== 0;
    else if (tag === INT) value = reader.int64(to);
    else if (tag === DOUBLE) value = reader.double(to);
    else if (tag === ARRAY) value = readArray(reader, to, budget, depth);
    else if (tag === KEY_VALUE_LIST) value = readKeyValueList(reader, to, budget, depth);
    else if (tag === BYTES) value = reader.copyOfBytes(to);
    else reader.skip(tag, to);
  }
  return value;
}

function readArray(reader: WireReader, end: number, budget: DecodeBudget, depth: number): unknown[] {
  const to = reader.length(end);
  const values: unknown[] = [];
  while (reader.at < to) {
    const tag = reader.tag(to);
    if (tag !== VALUES) reader.skip(tag, to);
    else {
      budget.takeItem();
      values.push(readAnyValue(reader, to, budget, depth + 1));
    }
  }
  return values;
}

function readKeyValueList(
  reader: WireReader,
  end: number,
  budget: DecodeBudget,
  depth: number,
): ReceivedAttributes {
  const to = reader.length(end);
  const values: ReceivedAttributes = {};
  while (reader.at < to) {
    const tag = reader.tag(to);
    if (tag === VALUES) readAttribute(reader, to, values, budget, depth + 1);
    else reader.skip(tag, to);
  }
  return values;
}
