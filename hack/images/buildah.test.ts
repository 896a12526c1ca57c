import { expect, test } from 'vitest';
import { buildArguments } from './buildah.ts';

const request = { ref: 'localhost/agentfleet/x:1', dockerfile: '/c/Dockerfile', contextDir: '/c' };

test('build arguments are sorted and each is one word', () => {
  const args = buildArguments({ ...request, buildArgs: { VERSION: '1 2', BASE_IMAGE: 'localhost/b:1' } });
  expect(args.join('\n')).toContain('--build-arg\nBASE_IMAGE=localhost/b:1\n--build-arg\nVERSION=1 2\n');
});

test('nothing is pulled, and neither times nor names of this machine enter the image', () => {
  const args = buildArguments({ ...request, buildArgs: {} });
  expect(args).toEqual(expect.arrayContaining(['--pull=never', '--identity-label=false']));
  expect(args[args.indexOf('--timestamp') + 1]).toBe('0');
  expect(args[args.indexOf('--format') + 1]).toBe('oci');
  expect(args.at(-1)).toBe('/c');
});
