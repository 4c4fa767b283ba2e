export { readRecordedCalls } from './recorded-calls.ts';
export {
  type RepeatedDecision,
  type ReplayTraceOptions,
  replayTrace,
  type TraceReplay,
} from './replay-trace.ts';
