import { expect, it } from 'vitest';
import { locate } from './s3Store.ts';

const at = (uri: string, forcePathStyle: boolean) => locate({ uri, endpoint: 'https://s3.example.com:9000', forcePathStyle });

it('puts the bucket into the path or into the host name', () => {
  expect(at('s3://agents/a', true).keyUrl('b/c').href).toBe('https://s3.example.com:9000/agents/a/b/c');
  expect(at('s3://agents/a', false).keyUrl('b/c').href).toBe('https://agents.s3.example.com:9000/a/b/c');
  expect(at('s3://agents', true).bucketUrl({ prefix: 'x/' }).href).toBe('https://s3.example.com:9000/agents?prefix=x%2F');
  expect(at('s3://agents', false).bucketUrl({ prefix: 'x/' }).href).toBe('https://agents.s3.example.com:9000/?prefix=x%2F');
});

it('escapes characters with a meaning in a URL', () => {
  expect(at('s3://agents', true).keyUrl("a b+c?d#e%2F'()").pathname).toBe('/agents/a%20b%2Bc%3Fd%23e%252F%27%28%29');
});

it('takes a prefix with or without its slash', () => {
  expect(at('s3://agents/a/b/', true).uri('c')).toBe('s3://agents/a/b/c');
  expect(at('s3://agents/', true).uri('c')).toBe('s3://agents/c');
});

it.each(['s3://', 's3://A/b', 'https://agents/x', 's3://a_b', 's3://agents//x', 's3://agents/../x'])('refuses %s', (uri) => {
  expect(() => at(uri, true)).toThrow(expect.objectContaining({ name: 'StoreFailure' }));
});
