import { describeFaults } from '../support/faults.ts';

describeFaults({ spans: 100_000, outageMs: 20_000, refusedMs: 60_000, kills: 50 });
