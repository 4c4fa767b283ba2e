export { hookCommand } from './hook.ts';
