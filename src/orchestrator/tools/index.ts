export { type AdaptedTool, AdaptedTools, type AdaptToolsOptions, adaptTools } from './adapt.ts';
export type { ToolProvider } from './convert.ts';
export { chooseToolNames, SAFE_TOOL_NAME } from './tool-names.ts';
