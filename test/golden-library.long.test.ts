/** The library again, some of its goldens replayed a hundred times. */
process.env.OBSERVATORY_TEST_REPLAYS = '100';
await import('./golden-library.test.ts');
