import { type Context, context } from '@opentelemetry/api';
import { guard } from './guard.ts';

const sources: (() => Context | undefined)[] = [];

/** Adds a framework that keeps its current span elsewhere than in OpenTelemetry's context. */
export function addContextSource(source: () => Context | undefined): void {
  sources.push(source);
}

/** The context of a call that starts now: that of the framework it is made in, else the active one. */
export function callContext(): Context {
  for (const source of sources) {
    const found = guard('reading a framework context', source);
    if (found !== undefined) return found;
  }
  return context.active();
}
