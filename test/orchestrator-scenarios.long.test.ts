/** The scenarios again, those that start processes with every provider. */
process.env.OBSERVATORY_TEST_PROVIDERS = 'all';
await import('./orchestrator-scenarios.test.ts');
