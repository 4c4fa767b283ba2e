/**
 * Reads and writes OTLP messages, in JSON and protobuf. It may import `base` and `json`.
 */
export { type DecodedLogs, type DecodedRequest, DecodeError } from './decode-error.ts';
export { encodeProtobuf } from './encode.ts';
export { decodeJson, decodeLogsJson } from './json.ts';
export { decodeLogsProtobuf, decodeProtobuf } from './protobuf.ts';
export type { ReceivedLog } from './received-log.ts';
export type { ReceivedSpan } from './received-span.ts';
