export {
  type AdaptedTool,
  AdaptedTools,
  type AdaptToolsOptions,
  adaptTools,
  type UnsupportedTool,
} from './adapt.ts';
export type { ToolProvider } from './convert.ts';
export type { RelaxedConstraint } from './json-schema.ts';
export type { Arguments } from './map-arguments.ts';
export type { SchemaLimits } from './normalize.ts';
export { chooseToolNames, type NamespaceMode, SAFE_TOOL_NAME } from './tool-names.ts';
