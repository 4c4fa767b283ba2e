/** The token of pages in tests, for their address and as a bearer token; it reads and decides. */
export const PAGE_TOKEN = 'the-token-of-pages-in-tests';

export const BEARER = { authorization: `Bearer ${PAGE_TOKEN}` };
