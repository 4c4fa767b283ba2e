/**
 * The page with its server, and `/mcp`: what people and agents look at runs with. It may import every room but `entries` and
 * `cli`; the page itself, a script for browsers, imports `runs` and its own files only.
 */
export { type McpSdk, type McpStdioSdk, type StoreMcp, serveStoreOverStdio, storeMcp } from './mcp/index.ts';
export { type Page, type SenderSettings, startPage, type WebhookOptions } from './server/index.ts';
