import type { ModelInstrumentationConfig } from '../shared/index.ts';

/** Options of `GoogleGenAIInstrumentation`. */
export interface GoogleGenAIInstrumentationConfig extends ModelInstrumentationConfig {}
