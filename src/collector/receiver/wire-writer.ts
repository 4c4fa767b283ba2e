/** Messages of protobuf, small ones, as answers are. */
export function message(...fields: readonly Uint8Array[]): Buffer {
  return Buffer.concat(fields);
}

export function varintField(field: number, value: number): Uint8Array {
  return Uint8Array.from([...varint(field * 8), ...varint(value)]);
}

export function bytesField(field: number, value: string | Uint8Array): Uint8Array {
  const bytes = Buffer.from(value);
  return Buffer.concat([Uint8Array.from([...varint(field * 8 + 2), ...varint(bytes.length)]), bytes]);
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 0x80);
  bytes.push(rest);
  return bytes;
}
