export { type DecodedRequest, DecodeError } from './decode-error.ts';
export { encodeProtobuf } from './encode.ts';
export { decodeJson } from './json.ts';
export { decodeProtobuf } from './protobuf.ts';
