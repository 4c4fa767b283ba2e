/** Puts a file into an archive in a bucket: `node s3-put-process.js ADDRESS CACHE PATH NAME`. */
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { openS3Store } from '../../src/archive/s3/index.ts';

const [address = '', cache = '', path = '', name = ''] = process.argv.slice(2);
await using store = await openS3Store(address, { folder: cache });
await using work = await store.workForWriting();
const copy = join(work.path, 'copy');
copyFileSync(path, copy);
await store.put(copy, name, async () => {}, work);
