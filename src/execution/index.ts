export { instrument } from './instrument.ts';
export type {
  GovernanceOptions,
  InstrumentOptions,
  Interceptor,
  ModelCall,
  ModelCallRecord,
  RecordedModelCall,
  ToolCall,
} from './types.ts';
