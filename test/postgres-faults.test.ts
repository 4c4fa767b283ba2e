import { describeFaults } from './support/faults.ts';

describeFaults({ every: false, spans: 2000, outageMs: 300, refusedMs: 300, kills: 2 });
