export { type ExchangeFailure, type ExchangeStory, readExchange } from './read-exchange.ts';
