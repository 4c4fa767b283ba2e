import type { ModelInstrumentationConfig } from '../shared/config.ts';

/** Options of `GoogleGenAIInstrumentation`. */
export interface GoogleGenAIInstrumentationConfig extends ModelInstrumentationConfig {}
