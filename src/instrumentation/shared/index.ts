export { resolveCaptureContent } from '../../processor/index.ts';
export { boundedJson } from './bounded-json.ts';
export { Guard } from './guard.ts';
