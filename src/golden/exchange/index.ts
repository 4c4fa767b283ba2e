export { type ExchangeFailure, type ExchangeStory, readAnswer, readExchange } from './read-exchange.ts';
