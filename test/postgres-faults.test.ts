import { describeFaults } from './support/faults.ts';

describeFaults({ spans: 3000, outageMs: 700, refusedMs: 700, kills: 4 });
