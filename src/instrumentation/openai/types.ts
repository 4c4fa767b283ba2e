import type { ModelInstrumentationConfig } from '../shared/index.ts';

/** Options of `OpenAIInstrumentation`. */
export interface OpenAIInstrumentationConfig extends ModelInstrumentationConfig {}
