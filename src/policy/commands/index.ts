export type { CommandAction } from './actions.ts';
export { readCommand } from './read-command.ts';
