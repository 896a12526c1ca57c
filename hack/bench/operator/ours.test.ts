import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { imageEnv, imageFlags } from './ours.ts';

test('the bench starts the operator with the flags and the environment of its image', async () => {
  const dockerfile = await readFile(new URL('../../../operator/Dockerfile', import.meta.url), 'utf8');
  const entry = JSON.parse(/^ENTRYPOINT (\[.*\])$/m.exec(dockerfile)?.[1] ?? '[]') as string[];
  const flags = entry.filter((word) => word.startsWith('--') && word !== '--disable-warning=ExperimentalWarning');
  expect(imageFlags.split(' ')).toEqual(flags);
  const given = /^ENV (.*)$/m.exec(dockerfile)?.[1]?.split(' ') ?? [];
  expect(Object.entries(imageEnv).map(([name, value]) => `${name}=${value}`)).toEqual(
    given.filter((pair) => !pair.startsWith('AGENTFLEET_VERSION=')),
  );
});
