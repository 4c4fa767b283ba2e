export { type McpSdk, type McpStdioSdk, type StoreMcp, serveStoreOverStdio, storeMcp } from './server.ts';
