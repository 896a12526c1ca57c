import { execa } from 'execa';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

/** In long runs: the generator is installed from its own lock file. */
describe.skipIf(process.env['AGENTFLEET_FULL'] !== '1')('the site', () => {
  it('is built of all pages, without a dead link', async () => {
    await execa('npm', ['ci', '--ignore-scripts', '--prefix', import.meta.dirname]);
    const { all, exitCode } = await execa(process.execPath, [join(import.meta.dirname, 'main.ts')], { all: true, reject: false });
    expect([exitCode, exitCode === 0 ? '' : all]).toEqual([0, '']);
    for (const page of ['index', 'docs/index', 'docs/start', 'docs/comparison', 'docs/reference/cli', 'client/index'])
      expect(existsSync(join(import.meta.dirname, 'out', `${page}.html`)), page).toBe(true);
  });
});
