export { setupCommand } from './setup.ts';
