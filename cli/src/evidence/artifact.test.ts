import { expect, test } from 'vitest';
import { keyIn } from './artifact.ts';

test.each([
  ['s3://agents', 's3://agents/demo/t/1/trace.ndjson', 'demo/t/1/trace.ndjson'],
  ['s3://agents/a/', 's3://agents/a/t/1/trace.ndjson', 't/1/trace.ndjson'],
])('the key below %s', (place, uri, key) => {
  expect(keyIn(place, uri)).toBe(key);
});

test('refuses what lies elsewhere', () => {
  expect(() => keyIn('s3://agents', 's3://agents-of-others/t')).toThrow('does not lie in s3://agents');
});
