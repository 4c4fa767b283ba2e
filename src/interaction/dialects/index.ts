import { aiSdk } from './ai-sdk.ts';
import type { Dialect } from './dialect.ts';
import { openInference } from './openinference.ts';
import { openLlmetry } from './openllmetry.ts';
import { semconvAttributes } from './semconv-attributes.ts';
import { semconvEvents } from './semconv-events.ts';

export type { DialectContent } from './dialect.ts';

/** Every dialect, the one to believe first on top. */
export const DIALECTS: readonly Dialect[] = [
  semconvAttributes,
  semconvEvents,
  openInference,
  openLlmetry,
  aiSdk,
];
