/** Hooks of the model SDKs that end with the test file, so that several such files can share a process. */
import { createRequire } from 'node:module';
import { after } from 'node:test';

const { cache } = createRequire(import.meta.url);
const SDKS = /\/node_modules\/(?:openai|@anthropic-ai\/sdk|@google\/genai)\//;

/** An instrumentation that is disabled after the file; the file after it loads the SDKs again and hooks them itself. */
export function duringFile<T extends { disable(): void }>(instrumentation: T): T {
  after(() => {
    instrumentation.disable();
    for (const path of Object.keys(cache)) if (SDKS.test(path)) delete cache[path];
  });
  return instrumentation;
}
