export { anthropic, anthropicMessages } from './provider.ts';
