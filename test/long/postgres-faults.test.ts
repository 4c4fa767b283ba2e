import { describeFaults } from '../support/faults.ts';

describeFaults({ spans: 60_000, outageMs: 15_000, refusedMs: 30_000, kills: 30 });
