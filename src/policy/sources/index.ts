/** Where the arguments of a call came from, and what a policy says of it. */
export { type FieldDocument, type FieldPattern, readField, readPath } from './fields.ts';
export { type NotedValue, RunMemories, type RunMemory, type Told } from './memory.ts';
export { compileSources, findUnmet, type SourceDocument, type SourceRule } from './rules.ts';
export { SourceText } from './source-text.ts';
export {
  type ArgumentSource,
  describeSource,
  type Knowledge,
  type TracedValue,
  toSource,
  traceValues,
} from './trace.ts';
