export type { WebhookOptions } from './announce.ts';
export { type Page, type PageOptions, startPage } from './server.ts';
