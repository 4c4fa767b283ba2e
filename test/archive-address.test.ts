import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isNameOfFile, mayHaveDays, nameOfFile } from '../src/archive/file-names.ts';
import { parseS3Address } from '../src/archive/s3-address.ts';
import { dbCommand } from '../src/cli/db.ts';
import { runCommand } from './support/run-command.ts';

test('an address names bucket, prefix, endpoint, region and style', () => {
  const nothing = { endpoint: undefined, region: undefined, isPathStyle: false };
  assert.deepEqual(parseS3Address('s3://bucket', {}), { bucket: 'bucket', prefix: '', ...nothing });
  assert.deepEqual(parseS3Address('s3://my.bucket-1/of/a%20team/', {}), {
    bucket: 'my.bucket-1',
    prefix: 'of/a team/',
    ...nothing,
  });
  const full = 's3://bucket/x?endpoint=http://minio:9000&region=eu-central-1';
  assert.deepEqual(parseS3Address(full, {}), {
    bucket: 'bucket',
    prefix: 'x/',
    endpoint: 'http://minio:9000/',
    region: 'eu-central-1',
    isPathStyle: true,
  });
  assert.equal(parseS3Address(`${full}&path_style=false`, {}).isPathStyle, false);
  assert.equal(parseS3Address('s3://bucket', { AWS_ENDPOINT_URL: 'http://minio' }).isPathStyle, true);
});

test('an address that cannot be used is refused without its secrets', () => {
  const bad = [
    's3:bucket',
    's3://',
    's3://b',
    's3://bu cket/x',
    's3://key:s3cret@bucket/x',
    's3://bucket/a%2f..%2fb',
    's3://bucket/a//b',
    's3://bucket/%00',
    's3://bucket/a*b',
    's3://bucket/%',
    's3://bucket/x#y',
    `s3://bucket/${'x/'.repeat(300)}`,
    's3://bucket/x?secret=s3cret',
    's3://bucket/x?path_style=maybe',
    's3://bucket/x?endpoint=ftp://host',
    's3://bucket/x?endpoint=https://key:s3cret@host',
  ];
  for (const address of bad) {
    assert.throws(
      () => parseS3Address(address, {}),
      (error: Error & { code?: string }) =>
        error.code === 'INVALID_OPTION' && !error.message.includes('s3cret'),
      address,
    );
  }
});

test('each table has a file of its own, whose name leads nowhere else', () => {
  const tables = ['mcp_traces_20261122', 'a/b', 'a_b', '../../etc/passwd', 'ä b', "x'y", 'a%2fb', '名'];
  const names = tables.map((table) => nameOfFile(table, '2026-11-22T00:00:00Z'));
  assert.equal(names[0], 'day=2026-11-22/mcp_traces_20261122.parquet');
  assert.equal(new Set(names).size, tables.length);
  for (const name of [...names, nameOfFile('late_1', null)]) assert.ok(isNameOfFile(name), name);
  for (const name of [
    'day=2026-11-22/../x.parquet',
    'late/a/b.parquet',
    'x.parquet',
    '.work/x.parquet',
    'late/.parquet',
  ]) {
    assert.ok(!isNameOfFile(name), name);
  }
  const days = { from: '2026-11-22', to: '2026-11-23' };
  assert.ok(mayHaveDays(names[0] ?? '', days) && mayHaveDays('late/x.parquet', days));
  assert.ok(!mayHaveDays('day=2026-11-24/x.parquet', days));
});

test('flags of an archive that cannot be used are named with an example', async () => {
  for (const flags of [
    ['--days', '2026-13-01'],
    ['--days', '2026-11-02..2026-11-01'],
  ]) {
    await assert.rejects(runCommand(dbCommand, ['query', 'SELECT 1', '--archive', 'x', ...flags]), {
      message: new RegExp(`Expected ${flags[0]} .* for instance .*got '${flags[1]}'`),
    });
  }
});
