import { posix } from 'node:path';
import { hasHole, hole } from './marks.ts';

/** A path as the shell would resolve it from a folder; a hole in either stays one. */
export function absolute(path: string, cwd: string): string {
  const slashed = path.replace(/\/{2,}/g, '/');
  if (slashed.startsWith('/')) return posix.normalize(slashed).replace(/(.)\/$/, '$1');
  if (hasHole(cwd)) return `${hole}/${slashed}`;
  return posix.normalize(`${cwd}/${slashed}`).replace(/(.)\/$/, '$1');
}
