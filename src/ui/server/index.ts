export { type Page, type PageOptions, startPage } from './server.ts';
