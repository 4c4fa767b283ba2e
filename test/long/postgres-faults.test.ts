import { describeFaults } from '../support/faults.ts';

// More spans than a queue holds, outages of many retries. In full they last as long as a restart of a real server.
const scale = { spans: 24_000, outageMs: 4_000, refusedMs: 8_000, kills: 16 };
const full = { spans: 60_000, outageMs: 15_000, refusedMs: 30_000, kills: 30 };
describeFaults(process.env.OBSERVATORY_TEST_SIZE === 'million' ? full : scale);
