import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SOURCE = fileURLToPath(new URL('../../../../runner', import.meta.url));

/** The real runner, and beside it a folder that everybody may write to. */
interface BuiltRunner {
  readonly binary: string;
  readonly scratch: string;
  readonly remove: () => void;
}

/**
 * Builds the real runner into a separate folder that every user may read; null, with a warning, where that is not
 * possible.
 * @throws Error in CI, where nothing may be skipped
 */
export function buildRunner(): BuiltRunner | null {
  const dir = fs.mkdtempSync(join(tmpdir(), 'af-runner-'));
  fs.chmodSync(dir, 0o755);
  const [binary, scratch] = [join(dir, 'runner'), join(dir, 'scratch')];
  fs.mkdirSync(scratch);
  fs.chmodSync(scratch, 0o777);
  const remove = (): void => fs.rmSync(dir, { recursive: true, force: true });
  const { status } = spawnSync('go', ['build', '-o', binary, '.'], { cwd: SOURCE, env: { ...process.env, CGO_ENABLED: '0' } });
  if (status === 0) return { binary, scratch, remove };
  remove();
  if (process.env['CI'] === 'true') throw new Error('the runner cannot be built: is Go installed?');
  console.warn('SKIPPED: the runner cannot be built here');
  return null;
}
