import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PolicyGate } from '../src/policy/index.ts';
import { urlGate } from './support/policy-fixtures.ts';

test('urlHostIn takes a plain URL of the host, with its default port or none', () => {
  const isAllowed = urlGate(['example.com', 'api.example.com:8443']);
  for (const url of [
    'https://example.com',
    'https://example.com/',
    'http://example.com/a/b?c=d#e',
    'https://example.com:443/',
    'https://EXAMPLE.com/',
    'http://example.com:80/',
    'https://example.com?q=user@evil.com',
    'https://example.com/path;v=1/@evil.com:22/%5C',
    'https://api.example.com:8443/x',
  ]) {
    assert.equal(isAllowed(url), true, url);
  }
});

test('urlHostIn denies what URL parsers read differently, and every other host and port', () => {
  const isAllowed = urlGate(['example.com', 'api.example.com:8443']);
  for (const url of [
    'https://example.com\\@evil.com/',
    'https://example.com\\.evil.com/',
    'https:\\\\example.com/',
    'https:example.com',
    'https:/example.com',
    'https:///example.com',
    '//example.com/',
    'example.com',
    'HTTPS://example.com/',
    'https://example.com./',
    'https://ｅxample.com/',
    'https://example。com/',
    'https://exam\tple.com/',
    'https://example.com/\t',
    ' https://example.com/',
    'https://example.com/ ',
    'https://example.com\n',
    'https://example.com/\u0000',
    'https://example.com/é',
    'https://user@example.com/',
    'https://user:pw@example.com/',
    'https://@example.com/',
    'https://example.com@evil.com/',
    'https://example.com:443@evil.com/',
    'https://evil.com#@example.com/',
    'https://evil.com/example.com',
    'https://example.com.evil.com/',
    'https://xexample.com/',
    'https://%65xample.com/',
    'https://example.com%2f.evil.com/',
    'https://example.com:8443/',
    'https://example.com:80/',
    'http://example.com:443/',
    'https://example.com:0443/',
    'https://example.com:/',
    'https://example.com:443:443/',
    'https://api.example.com/',
    'https://api.example.com:443/',
    'https://[example.com]/',
    'https://example.com/{a,b}',
    'https://example.com/[1-3]',
    'https://example.com/%zz',
    'ftp://example.com/',
    'javascript://example.com/%0aalert(1)',
    'file://example.com/etc/passwd',
    `https://example.com/${'a'.repeat(9_000)}`,
    7,
    null,
    ['https://example.com/'],
  ]) {
    assert.equal(isAllowed(url), false, JSON.stringify(url)?.slice(0, 80));
  }
});

test('a host that urlHostIn could never match makes the policy unusable', () => {
  for (const host of ['https://example.com', 'example.com/', 'bücher.example', '*.example.com', '']) {
    const args = { url: { urlHostIn: [host] } };
    const rules = [{ id: 'fetch', effect: 'allow', server: 'web', tool: 'fetch', args }];
    using gate = new PolicyGate({ policy: { version: 1, rules } });
    assert.match(gate.problem?.message ?? '', /urlHostIn/, host);
  }
});
