import type { ModelInstrumentationConfig } from '../shared/config.ts';

/** Options of `OpenAIInstrumentation`. */
export interface OpenAIInstrumentationConfig extends ModelInstrumentationConfig {}
