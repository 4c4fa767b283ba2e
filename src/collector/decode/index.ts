export { DecodeError } from './decode-error.ts';
export type { DecodedRequest } from './decoded-request.ts';
export { decodeJson } from './json.ts';
export { decodeProtobuf } from './protobuf.ts';
export { bytesTag } from './wire-reader.ts';
